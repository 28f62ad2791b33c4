"""Who answers calls: local processes over stdio, remote servers over HTTP."""
