;; A raw WebAssembly capability: asks `math:add` with the arguments it was given, logs, and gives the answer back.
;; Compile it with `wasmtime.wat2wasm`, run it with `pml run raw.wasm` or `sandbox.run_wasm`.
(module
  (import "mcp" "args_size" (func $args_size (result i32)))
  (import "mcp" "args_read" (func $args_read (param i32 i32) (result i32)))
  (import "mcp" "call" (func $call (param i32 i32 i32 i32) (result i32)))
  (import "mcp" "answer_read" (func $answer_read (param i32 i32) (result i32)))
  (import "mcp" "log" (func $log (param i32 i32 i32)))
  (import "mcp" "result" (func $result (param i32 i32)))
  (import "mcp" "fail" (func $fail (param i32 i32)))

  (memory (export "memory") 2)
  (data (i32.const 0) "math:add")
  (data (i32.const 16) "asking")
  (data (i32.const 32) "the arguments are too long")

  (func (export "run")
    (local $args_bytes i32)
    (local $answer_bytes i32)

    ;; the arguments go to 1024, the answer to 65536
    (local.set $args_bytes (call $args_size))
    (if (i32.gt_u (local.get $args_bytes) (i32.const 32768))
      (then
        (call $fail (i32.const 32) (i32.const 26))
        (return)))
    (drop (call $args_read (i32.const 1024) (i32.const 32768)))

    (call $log (i32.const 1) (i32.const 16) (i32.const 6))
    (local.set $answer_bytes
      (call $call (i32.const 0) (i32.const 8) (i32.const 1024) (local.get $args_bytes)))

    ;; a negative size is an error's: its JSON names message and code
    (if (i32.lt_s (local.get $answer_bytes) (i32.const 0))
      (then
        (local.set $answer_bytes (i32.sub (i32.const 0) (local.get $answer_bytes)))
        (drop (call $answer_read (i32.const 65536) (i32.const 65536)))
        (call $fail (i32.const 65536) (local.get $answer_bytes))
        (return)))
    (drop (call $answer_read (i32.const 65536) (i32.const 65536)))
    (call $result (i32.const 65536) (local.get $answer_bytes))))
