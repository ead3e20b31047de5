import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { chooseModel, type ModelSelection } from "../../llm/choose-model.ts"
import { resolveModelOption } from "./resolve-model.ts"

interface TestHome {
  readonly config?: string
  readonly keys?: Readonly<Record<string, string>>
}

const ANTHROPIC = { ANTHROPIC_API_KEY: "sk-ant-0123456789" }
const BOTH = { ...ANTHROPIC, GOOGLE_API_KEY: "AIza0123456789" }

/** The resolution as `provider model` and its notice, or the error. */
async function resolved(
  selection: ModelSelection,
  { config, keys = BOTH }: TestHome = {},
): Promise<{ readonly found: string; readonly notice?: string | undefined }> {
  await using temporary = await temporaryHome(config === undefined ? {} : { config })
  const environment = environmentFrom({ ...temporary.env, ...keys })
  const home = resolveHome(environment)
  const settings = await loadConfig({ home, environment })
  const found = await resolveModelOption(selection, {
    config: settings,
    home,
    chooseModel: (wanted) => chooseModel(wanted, { config: settings, environment, storedProviders: [], home }),
  })
  if (!found.ok) return { found: found.error }
  const { selection: to, notice } = found.value
  return { found: `${to.provider ?? "-"} ${to.model ?? "-"}`, notice }
}

test.each<[string, ModelSelection, string | RegExp, TestHome?]>([
  ["a short name", { model: "opus" }, /^anthropic claude-opus-\d/],
  ["a short name at a named provider", { model: "haiku", provider: "anthropic" }, /^anthropic claude-haiku-\d/],
  [
    "settings for a provider do not make it another one",
    { model: "haiku", provider: "anthropic" },
    /^anthropic claude-haiku-\d/,
    { config: "providers:\n  anthropic:\n    request_timeout_seconds: 60\n" },
  ],
  ["a model that only another provider has", { model: "gemini-2.5-pro" }, "gemini gemini-2.5-pro"],
  ["an alias that no provider with a key has", { model: "grok" }, /^Anthropic has no model for the alias "grok"/],
  ["a provider before the name", { model: "zai:glm-5" }, "zai glm-5"],
  ["an unknown name", { model: "made-up.1" }, "anthropic made-up.1"],
  [
    "AWS without keys is not taken for its models",
    { model: "deepseek" },
    /no model for the alias "deepseek"/,
    { keys: ANTHROPIC },
  ],
  [
    "a server of one's own",
    { model: "opus" },
    "- opus",
    { config: "model:\n  base_url: http://127.0.0.1:9/v1\n  default: m\n" },
  ],
  [
    "another address for a provider's name",
    { model: "gemini-2.5-pro" },
    "- gemini-2.5-pro",
    { config: "model:\n  provider: anthropic\n  base_url: http://127.0.0.1:9\n  api_key: key-0123456789\n" },
  ],
  [
    "an endpoint of the settings",
    { model: "qwen:14b", provider: "office" },
    "office qwen:14b",
    { config: "providers:\n  office:\n    base_url: http://127.0.0.1:9/v1\n" },
  ],
  ["no provider", { model: "opus" }, "- opus", { keys: {} }],
])("a model that was named at the start: %s", async (_name, selection, expected, home) => {
  const { found } = await resolved(selection, home)
  if (typeof expected === "string") expect(found).toBe(expected)
  else expect(found).toMatch(expected)
})

const OPENAI = { OPENAI_API_KEY: "sk-0123456789" }
const CONFIGURED = "model:\n  provider: anthropic\n  default: claude-sonnet-4-6\n"

test.each<[string, ModelSelection, TestHome]>([
  ["o3 at its vendor", { model: "o3" }, { keys: OPENAI }],
  ["o3 at a named provider", { model: "o3", provider: "openai-api" }, { keys: OPENAI }],
  [
    "o3 in the settings of the provider",
    { model: "o3" },
    { keys: { ...OPENAI, ...BOTH }, config: "model:\n  provider: openai\n" },
  ],
])("an exact name wins over the alias and needs no notice: %s", async (_name, selection, home) => {
  expect(await resolved(selection, home)).toEqual({ found: "openai-api o3", notice: undefined })
})

test("an exact name at an aggregator gets only its vendor", async () => {
  expect(await resolved({ model: "o3" }, { keys: { OPENROUTER_API_KEY: "sk-or-0123456789" } })).toEqual({
    found: "openrouter openai/o3",
    notice: "The model name o3 stands for openai/o3 (openrouter).",
  })
})

test("a general alias is still expanded where the provider maps unknown names to a model", async () => {
  const { found } = await resolved({ model: "deepseek" }, { keys: { DEEPSEEK_API_KEY: "sk-0123456789" } })
  expect(found).toMatch(/^deepseek deepseek-(?:v\d|pro|flash)/)
})

test("a configured provider stays, and the notice names the provider that has the model", async () => {
  expect(await resolved({ model: "gemini-2.5-pro" }, { config: CONFIGURED })).toEqual({
    found: "anthropic gemini-2.5-pro",
    notice:
      "Anthropic is not known to have gemini-2.5-pro. Google Gemini has it: use --provider gemini to send the request there.",
  })
  expect((await resolved({ model: "gemini" }, { config: CONFIGURED })).found).toMatch(
    /^Anthropic has no model for the alias "gemini"; gemini has gemini-\S+: add --provider gemini to use it$/,
  )
})

test("a provider that was only detected is left with a notice", async () => {
  expect((await resolved({ model: "gemini-2.5-pro" })).notice).toBe(
    "Anthropic is not known to have gemini-2.5-pro, so requests go to Google Gemini as gemini-2.5-pro. To stay at Anthropic, use --provider anthropic.",
  )
  expect((await resolved({ model: "gemini" })).notice).toMatch(
    /^Anthropic has no model for the alias gemini, so requests go to gemini as gemini-/,
  )
})

test("an alias of the settings is expanded with a notice, and its full name does not leave an exact match", async () => {
  const config = `${CONFIGURED}model_aliases:\n  big: { provider: gemini, model: claude-opus-4-8 }\n`
  expect(await resolved({ model: "big" }, { config })).toEqual({
    found: "gemini claude-opus-4-8",
    notice: "The model name big stands for claude-opus-4-8 (gemini).",
  })
  expect(await resolved({ model: "claude-opus-4-8" }, { config })).toEqual({
    found: "anthropic claude-opus-4-8",
    notice: undefined,
  })
})
