import { createInterface } from "node:readline"

import { createExplainer, parseExplainRequest } from "../../../admin/permissions/explain.ts"
import type { Explainer, Explanation, ExplainRequest, ShownCommand } from "../../../admin/permissions/explain.ts"
import { isRecord, parseJson } from "../../../base/json.ts"
import { quoteForShell } from "../../../base/quote-for-shell.ts"
import { fail, type Result } from "../../../base/result.ts"
import { asSentence } from "../../../base/sentence.ts"
import { errorMessage } from "../../../base/system-error.ts"
import { visibleText } from "../../../base/visible-text.ts"
import { readPermissionFlags, readProfileFlags } from "../../chat/chat-options.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes permissions explain` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const sandbox = flags.text("sandbox")
  const request = flags.has("stdin") ? undefined : readRequest(invocation)
  const explainer = valueOrCliError(
    await createExplainer(homeContext(invocation), {
      profile: readProfileFlags(flags),
      flags: readPermissionFlags(flags),
      sandbox: sandbox === "on" || sandbox === "off" ? sandbox : undefined,
      cwd: flags.text("cwd") ?? process.cwd(),
    }),
  )
  if (request === undefined) return await answerLines(explainer, invocation)
  const explained = await explainer.explain(request)
  if (!explained.ok) throw new CliError(asSentence(explained.error), { exitCode: 2 })
  if (flags.has("json")) terminal.line(JSON.stringify(explained.value))
  else for (const line of describe(explained.value)) terminal.line(visibleText(line).text)
  return 0
}

function readRequest({ flags, positionals }: Invocation): ExplainRequest {
  const tool = flags.text("tool")
  const given = flags.text("args")
  if (tool !== undefined) {
    if (positionals.length > 0) throw usage("Give either a command or --tool.")
    const args = given === undefined ? {} : parseJson(given)
    if (!isRecord(args)) throw usage("--args must be a JSON object.")
    return { tool, args }
  }
  if (given !== undefined) throw usage("--args belongs to --tool.")
  if (positionals.length === 0) throw usage("Give a command after --, a tool with --tool and --args, or --stdin.")
  // The user's shell has already split several words, so they stay as they are; one word is a whole command line.
  const [only, ...others] = positionals
  return { command: others.length === 0 ? (only ?? "") : positionals.map(quoteIfNeeded).join(" ") }
}

function quoteIfNeeded(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : quoteForShell(word)
}

/** One JSON request and one JSON answer a line. A line that is no request gets an error and does not end the stream. */
async function answerLines(explainer: Explainer, { terminal, signal }: Invocation): Promise<number> {
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity, signal })
  for await (const line of lines) {
    const answer = await answerLine(line, explainer)
    terminal.line(JSON.stringify(answer.ok ? answer.value : { error: answer.error }))
    if (terminal.closed) break
  }
  await terminal.flush()
  return 0
}

const MAX_LINE_CHARS = 1_000_000

async function answerLine(line: string, explainer: Explainer): Promise<Result<Explanation>> {
  if (line.length > MAX_LINE_CHARS) return fail(`a request may have at most ${MAX_LINE_CHARS} characters`)
  const value = parseJson(line)
  if (value === undefined) return fail("the line is not JSON")
  const request = parseExplainRequest(value)
  if (!request.ok) return request
  try {
    return await explainer.explain(request.value)
  } catch (error) {
    return fail(errorMessage(error))
  }
}

function describe(explanation: Explanation): readonly string[] {
  const { decision, hard, rule, layer, reason, person_only, auxiliary_model, understood } = explanation
  const strength = hard
    ? ", cannot be allowed"
    : person_only === true
      ? ", only you can allow it, once"
      : auxiliary_model === true
        ? ", unless the auxiliary model answers first"
        : ""
  const { commands = [], doubts = [], paths = [] } = understood
  return [
    `${decision}${strength}`,
    `  rule    ${rule} (${layer})`,
    `  reason  ${reason}`,
    ...commands.map((command) => `  runs    ${commandText(command)}`),
    ...doubts.map(({ text, reason: why }) => `  unclear ${text}: ${why}`),
    ...paths.map(({ literal, real }) => `  path    ${literal === real ? literal : `${literal} -> ${real}`}`),
  ]
}

function commandText({
  assignments = [],
  wrappers,
  argv,
  redirections,
  cwd,
  remote,
  background,
}: ShownCommand): string {
  const words = [...assignments, ...wrappers.flat(), ...argv].map(quoteIfNeeded)
  const where = remote === undefined ? `in ${cwd ?? "an unknown directory"}` : `on ${remote}`
  return `${[...words, ...redirections].join(" ")}  [${where}${background === true ? ", in the background" : ""}]`
}

function usage(message: string): CliError {
  return new CliError(message, { exitCode: 2 })
}
