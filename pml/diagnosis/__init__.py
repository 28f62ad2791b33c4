"""What `pml doctor` finds: of this machine, of the sandboxes, of a workspace and its servers.

    findings = await examine(Surroundings(cwd, environ, home), start_servers=True)

One file per check. A check gives findings and prints nothing; it repairs and ends nothing:
what is to be done is said, as a command where there is one. Sandboxes are not believed but
attacked. A check that hangs or crashes is a finding itself.

Above: `pml/cli/doctor.py`. Below: every room, through its public face.
"""

from pml.diagnosis.examination import examine
from pml.diagnosis.finding import Finding
from pml.diagnosis.surroundings import Surroundings

__all__ = ["Finding", "Surroundings", "examine"]
