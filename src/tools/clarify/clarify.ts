import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"

const DEFAULT_MAX_CHOICES = 4
const MAX_QUESTION_CHARS = 4000
const MAX_CHOICE_CHARS = 300

export const clarify = defineTool({
  name: "clarify",
  toolset: "clarify",
  inChildren: false,
  description:
    "Ask the user a question and wait for the answer. Only when the answer changes the work and you cannot find it out " +
    "yourself. Not to get consent for dangerous commands: that is requested separately.",
  input: z.object({
    question: z.string(),
    choices: z
      .array(z.unknown().meta({ type: "string" }))
      .optional()
      .describe("2 to 4 real alternatives; leave out for an open question"),
    allow_freetext: z.boolean().default(true).describe("The user may answer in their own words"),
  }),
  declarationRank: 9,
  role: "question",
  access: "agent",
  subject: () => ({ kind: "name", name: "clarify" }),
  label: { emoji: "💬", verb: "ask" },
  preview: ({ question }) => question,
  digest: () => "[clarify] asked user a question",
  parallel: "never",
  run: async (args, context) => {
    const question = ellipsize(args.question.trim(), MAX_QUESTION_CHARS)
    if (question === "") return failure("question is empty: write what you want to know")
    const port = context.ports.ask
    if (port === undefined) return unattended()
    const named = choicesFrom(args.choices ?? [])
    const choices = named.slice(0, context.limits.clarifyMaxChoices ?? DEFAULT_MAX_CHOICES)
    const dropped = named.slice(choices.length)
    const answered = await port.ask({
      kind: "question",
      question,
      choices,
      // Without choices free text is the only possible answer.
      allowFreetext: args.allow_freetext || choices.length === 0,
    })
    const reply = (response: string, summary: string): ToolResult => ({
      content: {
        question,
        choices_offered: choices,
        user_response: response,
        ...(dropped.length === 0 ? {} : { note: droppedNote(dropped, choices.length) }),
      },
      summary,
    })
    switch (answered.kind) {
      case "answer":
        return reply(answered.text, answered.text)
      case "timeout":
        return reply(NO_ANSWER, "no answer in time")
      case "interrupted":
        return failure("the question was interrupted and has no answer")
      case "unattended":
        return unattended()
      default:
        return assertNever(answered)
    }
  },
})

const NO_ANSWER = "[No answer came in time. Use your best judgement and state what you assumed.]"

function unattended(): ToolResult {
  return failure("no user is available to answer; use your best judgement and state what you assumed")
}

function choicesFrom(given: readonly unknown[]): readonly string[] {
  const choices = given.map((choice) => ellipsize(asText(choice).trim(), MAX_CHOICE_CHARS))
  return [...new Set(choices)].filter((choice) => choice !== "")
}

function asText(choice: unknown): string {
  if (choice === null || choice === undefined) return ""
  return typeof choice === "string" ? choice : JSON.stringify(choice)
}

function droppedNote(dropped: readonly string[], offered: number): string {
  return `at most ${offered} choices can be offered; omitted: ${dropped.join(", ")}`
}
