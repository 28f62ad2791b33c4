"""The acceptance criteria of the stories behind the registry, and where each is held.

`CRITERIA` names every one: an id and its sentence. `14.4-AC3` is a criterion of the story itself,
`14.4-E3` the third given of the epic's text of it. Each has tests in `TESTS`, or a reason in
`DECIDED` why the design decides otherwise; `tests/test_requirements.py` checks that.
"""

CRITERIA = {
    # --- 14.3: routing (the permission inference of the same story is held in tests/pml/policy) ----
    "14.3-AC1": "each tool runs at the client or at the server; unless something says so, at the client",
    "14.3-AC2": "one function gives the routing of a tool from the table",
    "14.3-AC3": "each call goes where its routing says",
    "14.3-AC4": "an embedded table has the platform's lists; unknown tools stay at the client",
    "14.3-I": "critical invariant: local execution never goes to the cloud",
    # --- 14.4: dynamic loading ------------------------------------------------------------------------
    "14.4-AC1": "a capability that is called is fetched from the registry and loaded",
    "14.4-AC2": "a capability that is kept is called again without a network request",
    "14.4-AC3": "a missing dependency is asked about, by name and version, before anything goes on",
    "14.4-AC4": "an approved dependency is installed, its hash verified, and written to deps.json",
    "14.4-AC5": "the sha256 of the installed package is compared, and a mismatch fails the installation",
    "14.4-AC6": "the failure names the package and both hashes, and the capability does not run",
    "14.4-AC7": "a stdio dependency is started when it is called, and answers over JSON-RPC",
    "14.4-AC8": "an idle server is stopped after five minutes and started again by the next call",
    "14.4-AC9": "what is kept runs while the registry is away, with a warning",
    "14.4-AC10": "a missing variable is named: serena requires ANTHROPIC_API_KEY, with instructions",
    "14.4-E1": "a call is looked up at mcp/{fqdn} and handled by the content type of the answer",
    "14.4-E2": "a Deno MCP is answered as application/typescript, loaded and kept",
    "14.4-E3": "a stdio MCP is answered as JSON with install instructions, installed and started",
    "14.4-E4": "a cloud MCP is answered as JSON with the address it is proxied to, and called with the user's key",
    "14.4-E5": "installation happens without a prompt of its own once the call is approved or allowed",
    "14.4-E6": "concurrent calls share one server process",
    "14.4-E7": "a stdio MCP that needs installing while the registry is away is an error with instructions",
    "14.4-N": "FQDN, tool id and name in code are converted into each other",
    # --- 14.7: the registry endpoint ------------------------------------------------------------------
    "14.7-AC1": "GET of a capability gives TypeScript with X-PML-Routing, X-PML-Type and ETag",
    "14.7-AC2": "GET of a built-in gives its code with the same headers",
    "14.7-AC3": "GET of a stdio MCP gives JSON metadata with install, integrity, tools and warnings",
    "14.7-AC4": "GET of an http MCP gives JSON metadata with proxyTo, envRequired, integrity and tools",
    "14.7-AC5": "a wrong hash is 404 hash_mismatch with the current FQDN",
    "14.7-AC6": "an unknown FQDN is 404 not_found",
    "14.7-AC7": "answers have Cache-Control and ETag; If-None-Match gives 304",
    "14.7-AC8": "GET /mcp lists the catalogue by pages with right totals",
    "14.7-AC9": "GET /mcp?type= lists only that type",
    "14.7-AC10": "four parts are redirected to the current version",
    "14.7-AC11": "the first fetch writes an entry to .pml/mcp.lock",
    "14.7-AC12": "a later fetch is compared with the entry, and a mismatch is an IntegrityError with details",
    "14.7-AC13": "an entry that neither allow nor ask speaks of is removed when the lockfile is loaded, and saved",
    "14.7-AC14": "another hash gives IntegrityApprovalRequired; approved updates the lockfile, rejected raises",
    "14.7-H": "the lockfile verifies every type, also what is allowed without asking",
    # --- 14.8: end to end -----------------------------------------------------------------------------
    "14.8-E1": "init, start, calls of local and cloud tools complete without errors",
    "14.8-E2": "a file in the workspace is read, and execution stays within the sandbox",
    "14.8-E3": "a cloud tool is forwarded and its result given back",
    "14.8-E4": "with the cloud away local tools go on and cloud tools give an offline error",
    "14.8-E5": "a file outside the workspace is refused and the attempt is in the audit",
    # --- 14.9: private MCPs ---------------------------------------------------------------------------
    "14.9-A1": "a private MCP of .pml.json is used and installed on demand",
    "14.9-A2": "a private MCP goes before one of the registry, and the log says so",
    "14.9-A3": "a private MCP is under the same rules and questions as any other",
    "14.9-B1": "registries are asked in their order, and the first that knows the name is used",
}

_FQDN = "tests/pml/test_fqdn.py::"
_RESOLVER = "tests/pml/routing/test_resolver.py::"
_SYNCING = "tests/pml/routing/test_syncing.py::"
_LOCKED = "tests/pml/loader/lockfile/test_locked.py::"
_LOCK_STORE = "tests/pml/loader/lockfile/test_store.py::"
_LOADING = "tests/pml/loader/registry/test_loading.py::"
_CLIENT = "tests/pml/loader/registry/test_client.py::"
_CAPABILITY = "tests/pml/backends/capability/test_backend.py::"
_DOUBTS = "tests/pml/loader/installer/test_doubts.py::"
_RECORD = "tests/pml/loader/installer/test_record.py::"
_INSTALLING = "tests/pml/loader/installer/test_installing.py::"
_ENDPOINT = "tests/pml/cloud/test_registry_endpoint.py::"
_CLOUD_STDIO = "tests/pml/cloud/test_stdio.py::"
_OWN_KEYS = "tests/pml/cloud/test_own_keys.py::"
_CLOUD_CLIENT = "tests/pml/cloud/test_client.py::"
_LIFE = "tests/pml/backends/stdio/test_life.py::"
_ADDING = "tests/cli/test_adding.py::"

TESTS = {
    "14.3-AC1": (
        f"{_RESOLVER}test_what_needs_the_users_files_runs_here",
        f"{_RESOLVER}test_what_speaks_to_other_machines_runs_at_the_cloud",
        f"{_RESOLVER}test_local_and_cloud_are_read_as_client_and_server",
    ),
    "14.3-AC2": (
        f"{_RESOLVER}test_the_narrowest_pattern_decides_and_of_equals_the_one_that_stays",
    ),
    "14.3-AC4": (
        f"{_RESOLVER}test_what_is_unknown_or_no_tool_runs_here",
        f"{_SYNCING}test_without_a_cloud_and_without_a_kept_table_the_embedded_one_decides",
    ),
    "14.3-I": (
        f"{_RESOLVER}test_no_table_moves_a_configured_server_or_a_built_in",
        f"{_RESOLVER}test_one_local_tool_keeps_the_whole_program_here",
        f"{_SYNCING}test_a_synced_table_cannot_take_the_users_files_away",
    ),
    "14.3-AC3": (f"{_CLOUD_STDIO}test_local_cloud_and_mixed_programs_run_each_where_it_should",),
    "14.4-AC1": (
        f"{_ADDING}test_what_is_added_is_locked_listed_and_runs",
        f"{_LOADING}test_the_first_load_is_recorded_and_the_second_asks_nobody",
        f"{_CAPABILITY}test_every_shape_of_code_runs",
    ),
    "14.4-AC2": (f"{_LOADING}test_the_first_load_is_recorded_and_the_second_asks_nobody",),
    "14.4-AC3": (
        f"{_LOADING}test_packages_to_install_are_given_back_and_not_installed",
        f"{_DOUBTS}test_the_question_names_server_and_version_as_the_requirement_has_it",
    ),
    "14.4-AC4": (
        f"{_INSTALLING}test_a_package_is_installed_verified_and_started_directly",
        f"{_RECORD}test_deps_json_has_the_format_of_the_requirement",
    ),
    "14.4-AC5": (
        f"{_INSTALLING}test_a_hash_that_a_registry_promises_is_compared_before_anything_is_kept",
        f"{_INSTALLING}test_one_flipped_byte_is_found_even_with_its_time_put_back",
    ),
    "14.4-AC6": (
        f"{_INSTALLING}test_a_hash_that_a_registry_promises_is_compared_before_anything_is_kept",
        f"{_LOADING}test_one_flipped_byte_in_kept_code_is_refused_with_both_hashes",
    ),
    "14.4-AC7": (f"{_LIFE}test_concurrent_first_calls_share_one_start",),
    "14.4-AC8": (f"{_LIFE}test_an_idle_server_is_stopped_and_started_again_unnoticed",),
    "14.4-AC9": (
        f"{_LOADING}test_what_ran_once_runs_without_its_registry",
        f"{_LOADING}test_what_is_kept_but_not_locked_runs_offline_with_a_warning",
        f"{_LOADING}test_offline_with_nothing_kept_is_told_within_five_seconds",
        f"{_ADDING}test_what_was_added_runs_with_its_registry_gone",
    ),
    "14.4-AC10": (
        f"{_LOADING}test_a_missing_key_is_named_with_who_requires_it",
        f"{_CAPABILITY}test_a_missing_key_is_named_and_nothing_runs",
        f"{_ADDING}test_a_missing_key_is_told_and_found_without_adding_again",
    ),
    "14.4-E1": (
        f"{_CLIENT}test_code_comes_with_its_hash_in_one_request",
        f"{_CLIENT}test_a_server_is_described_in_camel_and_in_snake_case",
    ),
    "14.4-E2": (f"{_CLIENT}test_code_comes_with_its_hash_in_one_request",),
    "14.4-E4": (
        f"{_ENDPOINT}test_a_remote_server_is_served_as_metadata_under_the_hash_of_that",
        f"{_OWN_KEYS}test_the_key_reaches_the_remote_server_and_no_other_key_does",
        f"{_CLOUD_CLIENT}test_a_tool_gets_the_key_it_needs_and_another_none",
    ),
    "14.4-E6": (f"{_LIFE}test_concurrent_first_calls_share_one_start",),
    "14.4-E7": (f"{_INSTALLING}test_without_a_registry_the_error_says_to_restore_the_connection",),
    "14.4-N": (
        f"{_FQDN}test_a_registry_name_becomes_a_tool_id_and_a_name_in_code",
        f"{_FQDN}test_a_name_written_and_read_is_the_same",
        f"{_FQDN}test_a_tool_id_goes_to_code_and_back",
        f"{_FQDN}test_a_name_and_its_tool_id_name_the_same_tool",
    ),
    "14.7-AC1": (f"{_ENDPOINT}test_code_is_served_with_its_type_its_routing_and_the_whole_hash",),
    "14.7-AC2": (f"{_ENDPOINT}test_a_built_in_capability_is_served_like_any_other",),
    "14.7-AC3": (f"{_ENDPOINT}test_a_package_is_served_as_metadata_under_the_hash_of_its_tree",),
    "14.7-AC4": (f"{_ENDPOINT}test_a_remote_server_is_served_as_metadata_under_the_hash_of_that",),
    "14.7-AC5": (
        # a hash that some version has is not wrong: versions never change, and whoever pinned one
        # keeps working
        f"{_ENDPOINT}test_a_wrong_hash_is_told_with_the_current_name",
        f"{_ENDPOINT}test_an_old_version_stays_and_a_new_one_becomes_current",
    ),
    "14.7-AC6": (f"{_ENDPOINT}test_an_unknown_name_is_not_found",),
    "14.7-AC7": (f"{_ENDPOINT}test_whoever_has_a_version_is_not_sent_it_again",),
    "14.7-AC8": (f"{_ENDPOINT}test_the_catalogue_has_pages_and_right_totals",),
    "14.7-AC9": (f"{_ENDPOINT}test_the_catalogue_has_pages_and_right_totals",),
    "14.7-AC10": (f"{_ENDPOINT}test_a_name_without_a_hash_leads_to_the_current_version",),
    "14.7-AC11": (f"{_LOCK_STORE}test_the_first_fetch_is_written_and_read_by_the_next_process",),
    "14.7-AC12": (
        f"{_LOCKED}test_what_is_as_it_was_is_known",
        f"{_LOCKED}test_whatever_is_not_as_it_was_is_a_question",
        f"{_LOCKED}test_a_rejected_change_is_an_integrity_error_with_both_whole_hashes",
    ),
    "14.7-AC13": (
        f"{_LOCKED}test_what_no_rule_speaks_of_is_cleaned_and_would_be_new",
        f"{_LOCK_STORE}test_loading_with_rules_cleans_the_file_and_saves_it",
        f"{_LOCKED}test_cleaning_never_removes_what_a_rule_allows_or_asks",
    ),
    "14.7-AC14": (
        f"{_LOCKED}test_the_question_is_the_object_of_the_story",
        f"{_LOCKED}test_an_entry_is_replaced_after_the_humans_word",
        f"{_LOCKED}test_a_rejected_change_is_an_integrity_error_with_both_whole_hashes",
    ),
    "14.7-H": (f"{_LOCKED}test_whatever_is_not_as_it_was_is_a_question",),
    "14.9-A2": (
        f"{_CAPABILITY}test_a_configured_server_goes_before_with_a_note",
        f"{_ADDING}test_a_configured_server_is_used_instead",
    ),
    "14.9-B1": (
        f"{_CLIENT}test_the_first_registry_that_has_a_name_counts",
        f"{_CLIENT}test_a_registry_that_is_down_is_not_stood_in_for_by_the_next",
    ),
    "14.8-E1": (f"{_CLOUD_STDIO}test_from_init_to_calls_of_local_and_cloud_tools",),
    "14.8-E2": (f"{_CLOUD_STDIO}test_local_cloud_and_mixed_programs_run_each_where_it_should",),
    "14.8-E3": (f"{_CLOUD_STDIO}test_local_cloud_and_mixed_programs_run_each_where_it_should",),
    "14.8-E4": (f"{_CLOUD_STDIO}test_a_cloud_that_goes_away_leaves_local_tools_as_they_are",),
    "14.8-E5": (
        f"{_CLOUD_STDIO}test_a_file_outside_the_workspace_is_refused_and_the_attempt_is_audited",
    ),
}

DECIDED = {
    "14.4-E5": (
        "what would be installed, with its version and hash, is a question of its own: a yes to a call"
        " is no yes to a stranger's package (design, section 4; the story's own AC3 says the same)"
    ),
}
