import { assertNever } from "../../base/assert-never.ts"
import { ok } from "../../base/result.ts"
import { NOTE_PATH, deletePath, listFiles, remember, writePath } from "./actions.ts"
import type { DemoConversation } from "./conversation.ts"
import { HOW_TO_CONNECT, DISCLAIMER, NOT_UNDERSTOOD } from "./introduction.ts"
import type { Plan, Step, ToolOption } from "./plan.ts"
import { RULES } from "./rules.ts"
import type { RuleContext, Captures } from "./rules.ts"
import { hasFailed, reportCall } from "./tool-report.ts"

/** The next reply of the demo model: reasoning, text and at most one tool call. */
export interface DemoReply {
  readonly think: string
  readonly say: string
  readonly call?: { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
}

/** Depends only on the conversation, so a resumed session continues where it was. */
export function nextReply(conversation: DemoConversation): DemoReply {
  const plan = planFor(conversation)
  switch (plan.kind) {
    case "reply":
      return final(conversation, "No tool is needed for this.", plan.text)
    case "run":
      return replyForStep(plan, conversation)
    default:
      return assertNever(plan)
  }
}

type RunPlan = Extract<Plan, { readonly kind: "run" }>

function replyForStep(plan: RunPlan, conversation: DemoConversation): DemoReply {
  const { completedCalls, tools } = conversation
  const missing = plan.steps.filter((step) => offeredOption(step, tools) === undefined)
  if (missing.length > 0 && plan.onFailure === "stop" && completedCalls.length === 0) {
    return final(conversation, "A tool that this needs is not offered.", missing.map(missingToolNote).join("\n"))
  }
  const steps = plan.steps.filter((step) => !missing.includes(step))
  const last = completedCalls.at(-1)
  const isStopped = plan.onFailure === "stop" && last !== undefined && hasFailed(last)
  const open = steps.slice(completedCalls.length)
  const [step] = isStopped ? [] : open
  const option = step === undefined ? undefined : offeredOption(step, tools)
  const reports = completedCalls.map(reportCall)
  const closing = [...missing.map(missingToolNote), ...(plan.closing === undefined ? [] : [plan.closing])]
  if (step === undefined || option === undefined) {
    const left = open.length === 0 ? [] : [`Not done: ${open.map(({ title }) => title).join(", ")}.`]
    return final(
      conversation,
      "All results are available; I summarise them.",
      [...reports, ...left, ...closing].join("\n\n"),
    )
  }
  const args = typeof option.args === "function" ? option.args(completedCalls) : ok(option.args)
  if (!args.ok) {
    return final(conversation, "The next step is not possible.", [...reports, args.error, ...closing].join("\n\n"))
  }
  return {
    think: `Step ${completedCalls.length + 1} of ${steps.length}: ${step.title}, with ${option.tool}.`,
    say: step.say,
    call: { tool: option.tool, args: args.value },
  }
}

function final(conversation: DemoConversation, think: string, text: string): DemoReply {
  return { think, say: conversation.isFirstReply ? `${DISCLAIMER}\n\n${text}` : text }
}

function offeredOption(step: Step, tools: ReadonlySet<string>): ToolOption | undefined {
  return step.toolOptions.find((option) => tools.has(option.tool))
}

function missingToolNote(step: Step): string {
  return `For ${step.title} I need the tool \`${step.toolOptions[0].tool}\`, which this session does not offer.`
}

/** A longer message was pasted, and no rule matches pasted text. */
const MAX_MESSAGE_LENGTH = 4000

function planFor(conversation: DemoConversation): Plan {
  if (conversation.userMessage.length > MAX_MESSAGE_LENGTH) return { kind: "reply", text: NOT_UNDERSTOOD }
  const message = withoutCourtesy(conversation.userMessage)
  if (TOUR.test(message)) return tour(conversation.tools)
  return compound(message, conversation) ?? single(message, conversation) ?? { kind: "reply", text: NOT_UNDERSTOOD }
}

/** "…, then …": every part must match a rule, otherwise the sentence is treated as one request. */
function compound(message: string, conversation: RuleContext): Plan | undefined {
  const parts = splitParts(message)
  if (parts.length < 2) return undefined
  const steps: Step[] = []
  let lastPath = conversation.lastPath
  for (const part of parts) {
    const found = match(withoutCourtesy(part), { tools: conversation.tools, lastPath })
    if (found?.kind !== "steps") return undefined
    steps.push(...found.steps)
    lastPath = found.path ?? lastPath
  }
  return { kind: "run", steps, onFailure: "stop" }
}

function single(message: string, conversation: RuleContext): Plan | undefined {
  const found = match(message, conversation)
  if (found === undefined) return undefined
  return found.kind === "answer"
    ? { kind: "reply", text: found.text }
    : { kind: "run", steps: found.steps, onFailure: "stop" }
}

function match(message: string, context: RuleContext) {
  for (const rule of RULES) {
    for (const pattern of rule.patterns) {
      const found = pattern.exec(message)
      const plan = found === null ? undefined : rule.plan(unquotedCaptures(found.groups ?? {}), context)
      if (plan !== undefined) return plan
    }
  }
  return undefined
}

/** Records as `<name>_quoted` that a capture was quoted: quotes around a command mean "exactly this". */
function unquotedCaptures(groups: Captures): Captures {
  const words: Record<string, string> = {}
  for (const [name, value] of Object.entries(groups)) {
    if (value === undefined) continue
    const inner = /^(?:"([^"]+)"|'([^']+)'|`([^`]+)`|“([^”]+)”)$/u
      .exec(value)
      ?.slice(1)
      .find((part) => part !== undefined)
    words[name] = inner ?? value.trim()
    if (inner !== undefined) words[`${name}_quoted`] = "yes"
  }
  return words
}

/** Removes courtesy and closing punctuation; the dot of "list files in ." stays. */
function withoutCourtesy(text: string): string {
  return text
    .trim()
    .replace(/^(?:(?:hermes|please|can you|could you|would you|bitte|kannst du|por favor|puedes)[,:]?\s+|[¿¡])+/iu, "")
    .replace(/(?<=[^\s.!?])[.!?]+$/u, "")
    .replace(/[,\s]+(?:please|bitte|por favor)$/iu, "")
}

function splitParts(text: string): readonly string[] {
  const masked = text.replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”/gu, (quoted) => "_".repeat(quoted.length))
  const parts: string[] = []
  let start = 0
  for (const joint of masked.matchAll(JOINTS)) {
    parts.push(text.slice(start, joint.index))
    start = joint.index + joint[0].length
  }
  return [...parts, text.slice(start)]
}

const JOINTS =
  /[,;]?\s+(?:and then|then|und dann|y luego)\s+|[,;]?\s+(?:and|und|y)\s+(?=(?:read|show|open|delete|remove|edit|lies|lösche|lee|borra)\s+(?:it|that|the (?:note|file)|sie|la|lo)\b)/giu

const TOUR =
  /^(?:(?:(?:run|start|do|give|show|take)(?: me)?(?: on)? )?(?:the |a )?(?:demo|tour)|show me what you can do|zeige? mir,? was du kannst|muéstrame (?:qué|lo que) puedes hacer)$/iu

function tour(tools: ReadonlySet<string>): Plan {
  const [first, second] = ["This note was written by the Hermes demo.", "This note was edited by the Hermes demo."]
  const patch: ToolOption = {
    tool: "patch",
    args: { mode: "replace", path: NOTE_PATH, old_string: "written by", new_string: "edited by" },
  }
  const rewrite: ToolOption = { tool: "write_file", args: { path: NOTE_PATH, content: `${second}\n` } }
  const edit: Step = {
    toolOptions: tools.has("patch") ? [patch] : [rewrite],
    say: "Now I will change one word of that note.",
    title: `changing ${NOTE_PATH}`,
  }
  return {
    kind: "run",
    steps: [
      listFiles(undefined),
      writePath(NOTE_PATH, first),
      edit,
      remember("The user has taken the tour of the Hermes demo."),
      deletePath(NOTE_PATH),
    ],
    closing: `That was the tour. ${HOW_TO_CONNECT}`,
    onFailure: "continue",
  }
}
