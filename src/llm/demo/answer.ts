import { assertNever } from "../../base/assert-never.ts"
import { ok } from "../../base/result.ts"
import { NOTE_PATH, deletePath, listFiles, remember, writePath } from "./actions.ts"
import type { Conversation } from "./conversation.ts"
import { CONNECT, LABEL, LOST } from "./introduction.ts"
import type { Plan, Step, Way } from "./plan.ts"
import { RULES } from "./rules.ts"
import type { RuleContext, Words } from "./rules.ts"
import { hasFailed, reportCall } from "./tool-report.ts"

/** What the demo says next, and the tool it calls. */
export interface DemoAnswer {
  readonly think: string
  readonly say: string
  readonly call?: { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
}

/** Decides from the conversation alone, so a resumed session goes on where it was. */
export function answerConversation(conversation: Conversation): DemoAnswer {
  const plan = planFor(conversation)
  switch (plan.kind) {
    case "say":
      return final(conversation, "No tool is needed for this.", plan.text)
    case "act":
      return nextStep(plan, conversation)
    default:
      return assertNever(plan)
  }
}

type ActPlan = Extract<Plan, { readonly kind: "act" }>

function nextStep(plan: ActPlan, conversation: Conversation): DemoAnswer {
  const { done, tools } = conversation
  const missing = plan.steps.filter((step) => offeredWay(step, tools) === undefined)
  if (missing.length > 0 && plan.onFailure === "stop" && done.length === 0) {
    return final(conversation, "A tool that this needs is not offered.", missing.map(sayMissing).join("\n"))
  }
  const steps = plan.steps.filter((step) => !missing.includes(step))
  const last = done.at(-1)
  const isStopped = plan.onFailure === "stop" && last !== undefined && hasFailed(last)
  const open = steps.slice(done.length)
  const [step] = isStopped ? [] : open
  const way = step === undefined ? undefined : offeredWay(step, tools)
  const reports = done.map(reportCall)
  const closing = [...missing.map(sayMissing), ...(plan.closing === undefined ? [] : [plan.closing])]
  if (step === undefined || way === undefined) {
    const left = open.length === 0 ? [] : [`Not done: ${open.map(({ title }) => title).join(", ")}.`]
    return final(conversation, "The results are there; I sum them up.", [...reports, ...left, ...closing].join("\n\n"))
  }
  const args = typeof way.args === "function" ? way.args(done) : ok(way.args)
  if (!args.ok) {
    return final(conversation, "The next step is not possible.", [...reports, args.error, ...closing].join("\n\n"))
  }
  return {
    think: `Step ${done.length + 1} of ${steps.length}: ${step.title}, with ${way.tool}.`,
    say: step.say,
    call: { tool: way.tool, args: args.value },
  }
}

function final(conversation: Conversation, think: string, text: string): DemoAnswer {
  return { think, say: conversation.isFirstAnswer ? `${LABEL}\n\n${text}` : text }
}

function offeredWay(step: Step, tools: ReadonlySet<string>): Way | undefined {
  return step.ways.find((way) => tools.has(way.tool))
}

function sayMissing(step: Step): string {
  return `For ${step.title} I need the tool \`${step.ways[0].tool}\`, which this session does not offer.`
}

/** What is longer was pasted, and no rule is about pasted text. */
const MAX_ASKED = 4000

function planFor(conversation: Conversation): Plan {
  if (conversation.asked.length > MAX_ASKED) return { kind: "say", text: LOST }
  const asked = spoken(conversation.asked)
  if (TOUR.test(asked)) return tour(conversation.tools)
  return compound(asked, conversation) ?? single(asked, conversation) ?? { kind: "say", text: LOST }
}

/** "…, then …": every part must be something the demo can do, otherwise the sentence is read as one. */
function compound(asked: string, conversation: RuleContext): Plan | undefined {
  const parts = splitParts(asked)
  if (parts.length < 2) return undefined
  const steps: Step[] = []
  let lastPath = conversation.lastPath
  for (const part of parts) {
    const found = match(spoken(part), { tools: conversation.tools, lastPath })
    if (found?.kind !== "steps") return undefined
    steps.push(...found.steps)
    lastPath = found.path ?? lastPath
  }
  return { kind: "act", steps, onFailure: "stop" }
}

function single(asked: string, conversation: RuleContext): Plan | undefined {
  const found = match(asked, conversation)
  if (found === undefined) return undefined
  return found.kind === "answer"
    ? { kind: "say", text: found.text }
    : { kind: "act", steps: found.steps, onFailure: "stop" }
}

function match(asked: string, context: RuleContext) {
  for (const rule of RULES) {
    for (const pattern of rule.patterns) {
      const found = pattern.exec(asked)
      const plan = found === null ? undefined : rule.plan(unquoted(found.groups ?? {}), context)
      if (plan !== undefined) return plan
    }
  }
  return undefined
}

/** Whether a part was quoted is kept as `<name>_quoted`: quotes around a command mean "exactly this". */
function unquoted(groups: Words): Words {
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

/** Without courtesy and closing marks; the dot of "list files in ." stays. */
function spoken(text: string): string {
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
  const patch: Way = {
    tool: "patch",
    args: { mode: "replace", path: NOTE_PATH, old_string: "written by", new_string: "edited by" },
  }
  const rewrite: Way = { tool: "write_file", args: { path: NOTE_PATH, content: `${second}\n` } }
  const edit: Step = {
    ways: tools.has("patch") ? [patch] : [rewrite],
    say: "Now I will change one word of that note.",
    title: `changing ${NOTE_PATH}`,
  }
  return {
    kind: "act",
    steps: [
      listFiles(undefined),
      writePath(NOTE_PATH, first),
      edit,
      remember("The person has taken the tour of the Hermes demo."),
      deletePath(NOTE_PATH),
    ],
    closing: `That was the tour. ${CONNECT}`,
    onFailure: "go-on",
  }
}
