import { readFileSync } from "node:fs"

import { testHooks } from "../../../admin/hooks/hooks.ts"
import { isRecord, parseJson } from "../../../base/json.ts"
import { nearest } from "../../../base/nearest-name.ts"
import { quoteForShell } from "../../../base/quote-for-shell.ts"
import { explainSystemError } from "../../../base/system-error.ts"
import { HOOK_EVENTS, isHookEvent } from "../../../plugins/hooks/hook-events.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes hooks test` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, flags, signal } = invocation
  const [event = ""] = positionals
  if (!isHookEvent(event)) {
    const suggestion = nearest(event, Object.keys(HOOK_EVENTS), 4)
    const hint = suggestion === undefined ? "" : ` Did you mean ${suggestion}?`
    throw new CliError(`There is no event ${event}.${hint}`, { exitCode: 2 })
  }
  const payload = readPayload(flags.text("payload-file"))
  const tested = await testHooks(homeContext(invocation), {
    event,
    tool: flags.text("for-tool"),
    payload,
    cwd: process.cwd(),
    signal,
  })
  if (tested.length === 0) terminal.line(`No hook is configured for ${event}.`)
  for (const { hook, run: ended, durationMs } of tested) {
    if (ended === undefined) {
      terminal.errLine(
        `${hook.command} was not run, because you have not approved it. Approve it with \`hermes hooks approve ${quoteForShell(hook.command)}\`.`,
      )
      continue
    }
    terminal.line(`${hook.command}: ${ended.failure ?? "ok"} (${durationMs} ms)`)
    if (ended.stdout.trim() !== "") terminal.line(ended.stdout.trimEnd())
    if (ended.stderr.trim() !== "") terminal.errLine(ended.stderr.trimEnd())
  }
  return tested.some(({ run: ended }) => ended === undefined || ended.failure !== undefined) ? 1 : 0
}

function readPayload(file: string | undefined): Readonly<Record<string, unknown>> {
  if (file === undefined) return {}
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    throw new CliError(`${file} could not be read: ${explainSystemError(error)}`, { exitCode: 1, cause: error })
  }
  const payload = parseJson(text)
  if (!isRecord(payload)) throw new CliError(`${file} must contain a JSON object.`, { exitCode: 2 })
  return payload
}
