"""What PML costs on this machine: sandboxes, servers behind the gateway, tokens.

    results = await measured(workspace, wishes)     # measured.py, the spine: one file per section
    table(results)                                  # report.py; picture.py draws, keeping.py keeps
    compared(before, results)                       # comparing.py: what became slower

Measures by public faces alone: `sandbox_host`, and the real `pml stdio` over its pipes. Grants
nothing and calls nothing that the policy would ask about. Above: the command. Below: assembly.
Imports nothing here: `benches` uses `statistics.py` in processes whose memory it measures.
"""
