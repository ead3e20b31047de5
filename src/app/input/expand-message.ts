import { assertNever } from "../../base/assert-never.ts"
import { compactCount } from "../../base/compact-count.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import { ellipsize } from "../../base/text.ts"
import type { Home } from "../../config/home.ts"
import type { SessionStore } from "../../state/store.ts"
import { defuseSteerMarkers } from "../../toolkit/untrusted.ts"
import type { SkillCommands } from "../session/skill-commands.ts"
import { attachFile, attachFolder } from "./attach-path.ts"
import type { PathContext } from "./attach-path.ts"
import { attachGit } from "./attach-git.ts"
import { attachSession } from "./attach-session.ts"
import { attachUrl } from "./attach-url.ts"
import type { UrlContext } from "./attach-url.ts"
import { callForFields } from "./attachment.ts"
import type { Attachment, CallFailure } from "./attachment.ts"
import { ATTACHED_OPENING } from "./attached-opening.ts"
import { expandPastes } from "./expand-pastes.ts"
import { parseReferences } from "./parse-references.ts"
import type { Reference } from "./parse-references.ts"
import { inlineCommands } from "./shell-input.ts"

export interface ExpansionContext extends PathContext, UrlContext {
  readonly home: Home
  readonly store: () => Promise<SessionStore>
  readonly skills: Pick<SkillCommands, "preload"> | undefined
  /** Commands of the user may run; false in plan mode. */
  readonly runsCommands: boolean
  /** In tokens; 0 when it is not known. */
  readonly contextLength: number
}

export type ExpandedMessage =
  | {
      readonly kind: "ready"
      /** The text that is sent instead of the one that was typed. */
      readonly sent: string
      /** Sent with it; empty when nothing is attached. */
      readonly attached: string
      /** Sentences for the user. */
      readonly warnings: readonly string[]
    }
  /** The message must not be sent; the reason is a sentence. */
  | { readonly kind: "refused"; readonly reason: string }

const WARN_SHARE = 0.25
const MAX_SHARE = 0.5
const CHARS_PER_TOKEN = 4

/**
 * Carries out what a message asks for before it is sent: commands in it are replaced by their output, references by what they name,
 * tokens of pasted texts by the texts. Text that is inserted is never expanded itself.
 */
export async function expandMessage(typed: string, context: ExpansionContext): Promise<ExpandedMessage> {
  const commands = inlineCommands(typed)
  if (commands.length > 0 && !context.runsCommands) return { kind: "refused", reason: NO_COMMANDS_IN_PLAN_MODE }
  const warnings: string[] = []
  const pieces: string[] = []
  let from = 0
  const addText = (text: string): void => {
    const pasted = expandPastes(text, context.home)
    warnings.push(...pasted.warnings)
    pieces.push(pasted.text)
  }
  const { references, rest } = parseReferences(withoutCommands(typed, commands))
  for (const marker of rest.matchAll(COMMAND_MARKER)) {
    addText(rest.slice(from, marker.index))
    const command = commands[Number(marker[1])]?.command ?? ""
    const ran = await runInline(command, context)
    if (!ran.ok) return { kind: "refused", reason: ran.error }
    pieces.push(ran.value.output)
    if (ran.value.warning !== undefined) warnings.push(ran.value.warning)
    from = marker.index + marker[0].length
  }
  addText(rest.slice(from))
  const { blocks, problems } = await attachAll(references, context)
  warnings.push(...problems)
  const size = blocks.reduce((sum, { tokens }) => sum + tokens, 0)
  const share = context.contextLength > 0 ? size / context.contextLength : 0
  const sizeText = `The attached references have about ${compactCount(size)} tokens, ${Math.round(share * 100)} % of the context`
  if (share > MAX_SHARE)
    return {
      kind: "refused",
      reason: `${sizeText}; at most ${MAX_SHARE * 100} % may be attached. Refer to fewer or to parts of them (@file:PATH:10-20).`,
    }
  if (share > WARN_SHARE) warnings.push(`${sizeText}.`)
  const sent = pieces.join("")
  // Some servers refuse a message without text.
  return { kind: "ready", sent: sent.trim() === "" ? typed : sent, attached: attachedText(blocks, problems), warnings }
}

export const NO_COMMANDS_IN_PLAN_MODE =
  "Commands of yours do not run in plan mode. Approve or abort the plan first (/plan approve, /plan abort)."

/** Commands are not searched for references, so each is replaced by a mark with a code point that is not a character. */
function withoutCommands(text: string, commands: ReturnType<typeof inlineCommands>): string {
  let result = ""
  let from = 0
  for (const [index, { start, end }] of commands.entries()) {
    result += `${cleaned(text.slice(from, start))}\u{FDD0}${index}\u{FDD0}`
    from = end
  }
  return result + cleaned(text.slice(from))
}

const COMMAND_MARKER = /\u{FDD0}(\d+)\u{FDD0}/gu

function cleaned(text: string): string {
  return text.replaceAll("\u{FDD0}", "")
}

const INLINE_TIMEOUT_SECONDS = 60

/** Runs a command of a message. Without its output the message would say something else, so the error says why there is none. */
async function runInline(
  command: string,
  { calls, tools, root }: ExpansionContext,
): Promise<Result<{ readonly output: string; readonly warning?: string }>> {
  const shown = ellipsize(command, 80)
  if (tools.shell === undefined) return fail(`${NO_SHELL} Remove {!${shown}} from the message.`)
  const args = { command, timeout: INLINE_TIMEOUT_SECONDS, workdir: root }
  const ran = await callForFields(calls, tools.shell, args)
  if (!ran.ok) return fail(notRun(`{!${shown}}`, ran.error))
  const { output, exit_code: code } = ran.value
  const text = defuseSteerMarkers(typeof output === "string" ? output : "")
  return code === 0
    ? ok({ output: text })
    : ok({ output: text, warning: `The command ${shown} ended with exit code ${String(code)}` })
}

export const NO_SHELL = "This session cannot run commands: the terminal toolset is not enabled."

/** Says to the user why a command of theirs has no output. */
export function notRun(shown: string, { reason, isDeniedByUser }: CallFailure): string {
  return isDeniedByUser ? `You denied ${shown}.` : asSentence(`${shown} was not run: ${reason}`)
}

interface Block {
  readonly title: string
  readonly body: string
  readonly tokens: number
}

async function attachAll(
  references: readonly Reference[],
  context: ExpansionContext,
): Promise<{ readonly blocks: readonly Block[]; readonly problems: readonly string[] }> {
  const blocks: Block[] = []
  const problems: string[] = []
  const skills = references.flatMap((reference) => (reference.kind === "skill" ? [reference.name] : []))
  const loaded = skills.length === 0 ? undefined : await context.skills?.preload(skills)
  if (loaded?.ok === false) problems.push(`@skill: ${loaded.error}`)
  if (skills.length > 0 && context.skills === undefined) problems.push("@skill: this session has no skills")
  for (const reference of references) {
    if (reference.kind === "skill") continue
    if (context.signal.aborted) break
    const attached = await attach(reference, context)
    if (!attached.ok) {
      problems.push(`${reference.token} is not attached: ${attached.error}`)
      continue
    }
    const body = defuseSteerMarkers(attached.value.body)
    blocks.push({ title: reference.token, body, tokens: Math.ceil(body.length / CHARS_PER_TOKEN) })
  }
  return { blocks, problems }
}

async function attach(
  reference: Exclude<Reference, { kind: "skill" }>,
  context: ExpansionContext,
): Promise<Result<Attachment>> {
  switch (reference.kind) {
    case "file":
      return await attachFile(reference, context)
    case "folder":
      return await attachFolder(reference.path, context)
    case "diff":
    case "staged":
    case "git":
      return await attachGit(reference, context)
    case "url":
      return await attachUrl(reference.url, context)
    case "session":
      return await attachSession(reference.name, context)
    default:
      return assertNever(reference)
  }
}

function attachedText(blocks: readonly Block[], problems: readonly string[]): string {
  if (blocks.length === 0 && problems.length === 0) return ""
  return [
    ATTACHED_OPENING,
    ...blocks.map(({ title, body, tokens }) => `## ${title} (about ${compactCount(tokens)} tokens)\n\n${body}`),
    ...(problems.length === 0 ? [] : [`## Warnings\n\n${problems.map((problem) => `- ${problem}`).join("\n")}`]),
  ].join("\n\n")
}
