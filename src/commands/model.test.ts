import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import type { ModelWish } from "../llm/choose-model.ts"
import { modelCommand } from "./model.ts"
import type { SlashContext } from "./slash-command.ts"

const switched: ModelWish[] = []
const kept: ModelWish[] = []
const context = {
  app: {
    rememberModel: (runtime: ModelWish) => {
      kept.push(runtime)
      return Promise.resolve(ok(undefined))
    },
    chooseModel: (wish: ModelWish) =>
      wish.provider === "nobody"
        ? fail({ code: "unknown_provider", message: "unknown provider" })
        : ok({ runtime: wish }),
  },
  session: {
    facts: { model: "claude-sonnet-4-6", provider: "anthropic" },
    switchModel: (chosen: { runtime: ModelWish }) => {
      switched.push(chosen.runtime)
      return Promise.resolve(ok(undefined))
    },
  },
} as unknown as SlashContext

async function said(argument: string): Promise<string> {
  const outcome = await modelCommand.run(argument, context)
  return outcome.kind === "say" ? outcome.text : outcome.kind
}

test("alone it shows what answers here", async () => {
  expect(await said("")).toBe(
    [
      "claude-sonnet-4-6 (anthropic)",
      "context      1M tokens, answers up to 128K",
      "abilities    sees images, thinks",
      "Change it with /model NAME, and for later sessions with --global or `hermes model`.",
    ].join("\n"),
  )
})

test.each([
  ["opus", "Now claude-opus-5-5 (anthropic) answers."],
  ["zai:glm-5.3", "Now glm-5.3 (zai) answers."],
  ["own-thing", "Now own-thing (anthropic) answers. It is not in the catalogue."],
  ["grok", 'Anthropic has no model that "grok" stands for.'],
  ["--provider nobody x", "unknown provider."],
  ["--provider my-box x", "Now x (my-box) answers. It is not in the catalogue."],
  ["opus --global", "Now claude-opus-5-5 (anthropic) answers."],
  ["a b", 'give one model, not "a b".'],
])("%s", async (argument, firstLine) => {
  switched.length = 0
  kept.length = 0
  expect((await said(argument)).split("\n")[0]).toBe(firstLine)
  expect(switched).toHaveLength(firstLine.startsWith("Now ") ? 1 : 0)
  expect(kept).toHaveLength(argument.includes("--global") ? 1 : 0)
})
