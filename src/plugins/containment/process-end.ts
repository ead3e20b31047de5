import { syncBuiltinESMExports } from "node:module"

/**
 * Calls `beforeEnd` before code of this process ends it with `process.exit`, `process.abort` or a signal to itself; when it throws, the
 * process goes on. Returns a function that undoes this.
 */
export function interceptProcessEnd(beforeEnd: (how: string) => void): () => void {
  const exit = process.exit.bind(process)
  const abort = process.abort.bind(process)
  const kill = process.kill.bind(process)
  const own = {
    exit: (code?: number | string | null): never => {
      beforeEnd("process.exit")
      return exit(code)
    },
    abort: (): never => {
      beforeEnd("process.abort")
      return abort()
    },
    kill: (pid: number, signal?: string | number): true => {
      if ((pid === process.pid || pid === 0) && signal !== 0) beforeEnd("process.kill")
      return kill(pid, signal)
    },
  }
  Object.assign(process, own)
  // For `import { exit } from "node:process"`.
  syncBuiltinESMExports()
  return () => {
    // Another app may have replaced them again; then ours stay below and pass every call on.
    if (process.exit === own.exit) process.exit = exit
    if (process.abort === own.abort) process.abort = abort
    if (process.kill === own.kill) process.kill = kill
    syncBuiltinESMExports()
  }
}
