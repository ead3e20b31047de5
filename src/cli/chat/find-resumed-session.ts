import type { App } from "../../app/app.ts"
import { ambiguousSession } from "../../app/services/ambiguous-session.ts"
import { isOfDirectory } from "../../app/session/session-directory.ts"
import type { WorkingDirectoryRequest } from "../../app/session/working-directory.ts"
import { CliError } from "../command.ts"
import type { ChatOptions } from "./chat-options.ts"

/** Finds the session to continue for `-r`, `-c NAME` and `-c`. Undefined without these flags. */
export async function findResumedSession(app: App, options: ChatOptions): Promise<WorkingDirectoryRequest["resume"]> {
  const { resume, source, cwd } = options
  if (resume === undefined && !options.continueLast) return undefined
  const store = await app.store()
  const found =
    resume === undefined
      ? await store.latestSession([source], options.anyDirectory ? undefined : isOfDirectory(cwd))
      : await store.resumeTarget(resume)
  if (found !== undefined) return { id: found, cwd: (await store.session(found))?.cwd ?? "" }
  if (resume !== undefined) {
    const ambiguous = await ambiguousSession(store, resume)
    if (ambiguous !== undefined) throw new CliError(ambiguous, { exitCode: 1 })
    const message = `There is no session "${resume}". \`hermes sessions list\` lists the sessions.`
    throw new CliError(message, { exitCode: 1 })
  }
  const elsewhere = options.anyDirectory ? undefined : await store.latestSession([source])
  if (elsewhere === undefined)
    throw new CliError("There is no session to continue yet. Start one with `hermes`.", { exitCode: 1 })
  const directory = (await store.session(elsewhere))?.cwd ?? "an unknown directory"
  throw new CliError(
    `There is no session to continue in ${cwd}. The most recent one is ${elsewhere} in ${directory}: continue it here with \`hermes -c --all\`, or change to its directory first.`,
    { exitCode: 1 },
  )
}
