/** The launcher and the rest of the program are separate bundles with modules of their own. */
const CHANGED = Symbol.for("hermes.engine-flags-changed")

/**
 * V8 optimises a function after some hundred calls. In a process that works without a pause, hundreds of functions are due at the same moment,
 * and the thread that frees what their compilation needed gets no time: 50 MB that the system never gets back. From this call on it is
 * freed at once. V8 then rejects cached code, which belongs to other flags, so call it when everything that is needed is loaded.
 */
export function freeCompilerMemoryAtOnce(): void {
  Reflect.set(globalThis, CHANGED, true)
  // A flag that a later V8 does not know has no effect.
  process.getBuiltinModule("node:v8").setFlagsFromString("--no-maglev-destroy-on-background")
}

/** Whether code that is compiled now would be rejected by the next start. */
export function engineFlagsHaveChanged(): boolean {
  return Reflect.get(globalThis, CHANGED) === true
}

/** Above it, collecting everything at once would stop the program noticeably; V8 itself does it in small steps. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024

let collect: (() => void) | undefined

/**
 * Collects the garbage of a small heap, which takes some 15 ms. V8 itself would let the heap double first, because it does not know when the
 * program only waits. Changes the flags of the engine like `freeCompilerMemoryAtOnce`.
 */
export function collectGarbage(): void {
  const { getHeapStatistics, setFlagsFromString } = process.getBuiltinModule("node:v8")
  if (getHeapStatistics().used_heap_size > MAX_HEAP_BYTES) return
  Reflect.set(globalThis, CHANGED, true)
  setFlagsFromString("--expose-gc")
  collect ??= collectorOf(process.getBuiltinModule("node:vm").runInNewContext("globalThis.gc"))
  collect()
}

/** A later V8 may no longer offer it. */
function collectorOf(gc: unknown): () => void {
  return typeof gc === "function" ? () => void Reflect.apply(gc, undefined, []) : () => undefined
}
