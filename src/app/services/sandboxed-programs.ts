import type { SessionId } from "../../protocol/identifiers.ts"

/** Called before a program starts. The returned function receives its exit; a program that could not start has exited. */
export type ProgramStarting = () => Promise<(exited: Promise<unknown>) => void>

/**
 * Programs that run in the sandbox of a session beside its calls, such as language servers. What they write is checked from their start to
 * their end.
 */
export interface SandboxedPrograms {
  /** Lets the checks of a session observe its programs, until the returned function is called. */
  observe(taskId: SessionId, starting: ProgramStarting): () => void
  /** Starts a program with `start`, and rejects if that does. */
  run<T extends { readonly exit: Promise<unknown> }>(taskId: SessionId, start: () => Promise<T>): Promise<T>
}

export function createSandboxedPrograms(): SandboxedPrograms {
  const observers = new Map<SessionId, ProgramStarting>()
  return {
    observe: (taskId, starting) => {
      observers.set(taskId, starting)
      return () => {
        if (observers.get(taskId) === starting) observers.delete(taskId)
      }
    },
    run: async (taskId, start) => {
      const started = await observers.get(taskId)?.()
      try {
        const program = await start()
        started?.(program.exit)
        return program
      } catch (error) {
        started?.(Promise.resolve())
        throw error
      }
    },
  }
}
