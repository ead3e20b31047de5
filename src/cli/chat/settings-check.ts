import type { StartedApp } from "../../app/start.ts"
import { asSentence } from "../../base/sentence.ts"
import { startRefusal } from "../../config/config-problem.ts"
import { CliError } from "../command.ts"
import type { ChatOptions } from "./chat-options.ts"

/**
 * Throws for settings that make a start unsafe. A file that cannot be used stops every run whose answer a program may use; a user at
 * the terminal sees a warning and decides.
 */
export function refuseUnusableSettings(
  { app, unusableFiles }: Pick<StartedApp, "app" | "unusableFiles">,
  { mode }: ChatOptions,
): void {
  const { problems, broken } = app.config
  const refusal = startRefusal(problems)
  if (refusal !== undefined) throw new CliError(refusal, { exitCode: 1 })
  if (broken === undefined || mode === "conversation") return
  throw new CliError(
    `${unusableFiles.map(asSentence).join(" ")} The run was not started, because it would use another model or other permissions. Repair the file, or use --ignore-user-config.`,
    { exitCode: 1 },
  )
}
