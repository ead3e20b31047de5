import { describe, expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { loadConfig } from "../config/load-config.ts"
import type { ListedModel } from "../llm/catalog/model-list.ts"
import { storeList } from "../llm/catalog/model-list-cache.ts"
import { chooseModel, type ChosenModel, type ModelSelection } from "../llm/choose-model.ts"
import type { ModelRuntime } from "../llm/model.ts"
import { modelCommand } from "./model.ts"
import type { SlashContext } from "./slash-command.ts"

interface Setup {
  readonly config?: string
  /** The endpoint's model list; absent when it cannot be fetched. */
  readonly lists?: Result<readonly ListedModel[]>
  /** The cached list. */
  readonly cached?: readonly ListedModel[]
  readonly confirms?: boolean
  readonly provider?: string
  /** Tokens of the last request. */
  readonly promptTokens?: number
}

interface ModelRun {
  readonly lines: readonly string[]
  readonly switched: readonly string[]
  readonly saved: readonly string[]
  readonly asked: readonly string[]
}

/** Runs `/model` with keys for Anthropic, Z.AI and OpenAI, by default in a conversation with Anthropic. */
async function runModel(argument: string, setup: Setup = {}): Promise<ModelRun> {
  await using temporary = await temporaryHome(setup.config === undefined ? {} : { config: setup.config })
  const environment = environmentFrom({
    ...temporary.env,
    ANTHROPIC_API_KEY: "sk-ant-0123456789",
    GLM_API_KEY: "glm-0123456789",
    OPENAI_API_KEY: "sk-0123456789",
  })
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  if (setup.cached !== undefined) storeList(home, "https://api.anthropic.com", { models: setup.cached, fetchedAt: 1 })
  const { lists, confirms } = setup
  const [switched, saved, asked]: [string[], string[], string[]] = [[], [], []]
  const named = ({ model, provider }: ModelRuntime): string => `${provider} ${model}`
  const context = {
    app: {
      config,
      home,
      chooseModel: (selection: ModelSelection) =>
        chooseModel(selection, { config, environment, storedProviders: [], home }),
      rememberModel: ({ runtime }: ChosenModel) => {
        saved.push(named(runtime))
        return Promise.resolve(ok(undefined))
      },
      refreshModels: ({ runtime }: ChosenModel) => {
        if (lists !== undefined) asked.push(runtime.provider)
        return Promise.resolve(lists ?? fail("cannot be reached"))
      },
    },
    session: {
      facts: { model: "claude-sonnet-4-6", provider: setup.provider ?? "anthropic" },
      chosenModel: { runtime: { provider: setup.provider ?? "anthropic", baseUrl: "https://api.anthropic.com" } },
      context: { lastPromptTokens: setup.promptTokens ?? 0 },
      switchModel: ({ runtime }: ChosenModel) => {
        switched.push(named(runtime))
        return Promise.resolve(ok(undefined))
      },
    },
    signal: new AbortController().signal,
    ...(confirms === undefined
      ? {}
      : {
          confirm: (question: string) => {
            asked.push(question)
            return Promise.resolve(confirms)
          },
        }),
  } as unknown as SlashContext
  const outcome = await modelCommand.run(argument, context)
  return { lines: outcome.kind === "reply" ? outcome.text.split("\n") : [outcome.kind], switched, saved, asked }
}

test("without an argument it shows the current model", async () => {
  expect((await runModel("")).lines).toEqual([
    "claude-sonnet-4-6 (anthropic)",
    "context      1M tokens, output up to 128K",
    "supports     images, reasoning",
    "Switch with /model NAME, or connect a provider with /model PROVIDER or a server of your own with /model ADDRESS; add --global, or use `hermes model`, to keep it for later sessions.",
  ])
})

const OWN = [
  "providers:",
  "  my-box:",
  "    base_url: http://127.0.0.1:9/v1",
  "    models: [declared]",
  "  usual:",
  "    base_url: http://127.0.0.1:9/v1",
  "    default_model: house",
  "model_aliases:",
  "  fast: zai/glm-5.3",
  "",
].join("\n")

describe("switches to", () => {
  test.each<[string, string, Setup?]>([
    ["opus", "anthropic claude-opus-5-5"],
    // The conversation has no model yet.
    ["glm-5.3", "zai glm-5.3", { provider: "none" }],
    ["opus", "anthropic claude-opus-5-5", { provider: "demo" }],
    ["claude-opus-5.5", "anthropic claude-opus-5-5"],
    ["zai:glm-5.3", "zai glm-5.3"],
    // An alias and a full name that another provider with a key serves.
    ["glm", "zai glm-5.3"],
    ["gpt-4.1-mini", "openai-api gpt-4.1-mini"],
    ["fast", "zai glm-5.3", { config: OWN }],
    ["--provider my-box declared", "my-box declared", { config: OWN, lists: ok([]) }],
    ["custom:my-box:declared", "my-box declared", { config: OWN, lists: ok([]) }],
    ["--provider usual", "usual house", { config: OWN, lists: ok([{ id: "house" }]) }],
    ["--provider my-box", "my-box only-one", { config: OWN, lists: ok([{ id: "only-one" }]) }],
    ["--provider my-box qwen3", "my-box qwen3", { config: OWN, lists: ok([{ id: "qwen3:latest" }]) }],
    ["brand-new", "anthropic brand-new", { lists: ok([{ id: "brand-new" }]) }],
    ["cached-before", "anthropic cached-before", { cached: [{ id: "cached-before" }], lists: ok([]) }],
  ])("%s: %s", async (argument, expected, setup) => {
    const { switched, lines } = await runModel(argument, setup)
    const [provider = "", model = ""] = expected.split(" ")
    expect([switched, lines[0]]).toEqual([[expected], `Switched to ${model} (${provider}).`])
  })

  test("another provider, and says why", async () => {
    const moved = [await runModel("gpt-4.1-mini"), await runModel("zai:glm-5.3")]
    expect(moved.map(({ lines }) => lines.at(-1))).toEqual([
      "Anthropic is not known to have gpt-4.1-mini, so requests go to OpenAI as gpt-4.1-mini. To stay at Anthropic, use --provider anthropic.",
      // The user named the provider.
      expect.stringMatching(/^(?:context|supports) /) as string,
    ])
  })

  test("--global also makes it the default", async () => {
    const { lines, saved } = await runModel("opus --global")
    expect([lines[1], saved]).toEqual(["It is now the default for later sessions.", ["anthropic claude-opus-5-5"]])
  })
})

describe("an unlisted name", () => {
  test("is refused with the closest name when the endpoint's list is available", async () => {
    const result = await runModel("claude-opsu-9", { lists: ok([{ id: "claude-opus-9" }, { id: "other" }]) })
    expect(result).toEqual({
      lines: ['anthropic does not list a model "claude-opsu-9"; the closest name is claude-opus-9.'],
      switched: [],
      saved: [],
      asked: ["anthropic"],
    })
  })

  test("is accepted with a warning when it is not", async () => {
    const { lines, switched } = await runModel("claude-opus-5-55", { lists: fail("does not respond") })
    expect([lines[1], switched]).toEqual([
      "It is not in the catalogue; the closest name is claude-opus-5-5.",
      ["anthropic claude-opus-5-55"],
    ])
  })
})

describe("explains the problem and changes nothing", () => {
  test.each<[string, string, Setup?]>([
    ["grok", 'Anthropic has no model for the alias "grok", nor has any other provider with a key.'],
    ["--provider anthropic grok", 'Anthropic has no model for the alias "grok".'],
    [
      "--provider deepseek deepseek-v4-pro",
      "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`, or run `hermes model`, which asks for it.",
    ],
    [
      "--provider meta-llama x",
      "meta-llama is a model vendor, not a provider; choose a provider that serves its models, for example --provider openrouter.",
    ],
    [
      "--provider my-box",
      "my-box has several models; name one with /model --provider my-box NAME: a, b.",
      { config: OWN, lists: ok([{ id: "a" }, { id: "b" }]) },
    ],
    ["--provider my-box", "my-box has no models.", { config: OWN, lists: ok([]) }],
    [
      "--provider my-box",
      "my-box does not respond; name the model as well.",
      { config: OWN, lists: fail("does not respond") },
    ],
    [
      "deepseek",
      "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`, or run `hermes model`, which asks for it.",
    ],
    [
      "my-box",
      "my-box has several models; name one with /model --provider my-box NAME: a, b.",
      { config: OWN, lists: ok([{ id: "a" }, { id: "b" }]) },
    ],
    ["a b", 'Name one model, not "a b".'],
    [
      "unheard-of",
      "no provider with a key is known to have unheard-of; name its provider with --provider P.",
      { provider: "none" },
    ],
  ])("%s: %s", async (argument, sentence, setup) => {
    const { lines, switched } = await runModel(argument, setup)
    expect([lines, switched]).toEqual([[sentence], []])
  })

  test("an unknown provider", async () => {
    const { lines, switched } = await runModel("--provider unheard-of x")
    expect([lines[0]?.startsWith('unknown provider "unheard-of"'), switched]).toEqual([true, []])
  })
})

describe("--refresh", () => {
  test.each<[string, Setup, string]>([
    ["--refresh", { lists: ok([{ id: "a" }, { id: "b" }]) }, "anthropic lists 2 models."],
    ["--refresh", { lists: fail("refuses the key") }, "anthropic refuses the key."],
    ["--refresh --provider deepseek", {}, "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`."],
  ])("%s", async (argument, setup, line) => {
    expect((await runModel(argument, setup)).lines).toContain(line)
  })

  test("with a model refreshes the list, then switches", async () => {
    const { lines, switched } = await runModel("opus --refresh", { lists: ok([{ id: "a" }]) })
    expect([lines.slice(0, 2), switched]).toEqual([
      ["anthropic lists one model.", "Switched to claude-opus-5-5 (anthropic)."],
      ["anthropic claude-opus-5-5"],
    ])
  })
})

describe("an expensive model", () => {
  const PRICE_WARNING = "o1-pro is expensive: $150 in, $600 out per million tokens"

  test("is used when the user confirms", async () => {
    const { switched, asked, lines } = await runModel("o1-pro", { confirms: true })
    expect([switched, asked[0]?.startsWith(PRICE_WARNING), asked[0]?.endsWith("Use it?")]).toEqual([
      ["openai-api o1-pro"],
      true,
      true,
    ])
    expect(lines.some((line) => line.includes("expensive"))).toBe(false)
  })

  test("is not used when the user declines", async () => {
    const { switched, lines } = await runModel("o1-pro --global", { confirms: false })
    expect([switched, lines]).toEqual([[], ["The model was not changed."]])
  })

  test("is used with a warning when the user cannot be asked", async () => {
    const { switched, lines } = await runModel("o1-pro")
    expect([switched, lines.some((line) => line.startsWith(PRICE_WARNING))]).toEqual([["openai-api o1-pro"], true])
  })

  test("does not ask about other models", async () => {
    expect((await runModel("opus", { confirms: false })).switched).toEqual(["anthropic claude-opus-5-5"])
  })
})

test("warns that the prompt cache of the new model is empty", async () => {
  const [first, second] = (await runModel("glm-5 --provider zai", { promptTokens: 12_345 })).lines
  expect(first).toBe("Switched to glm-5 (zai).")
  expect(second).toMatch(/prompt cache is empty.* all 12\.3K tokens/)
})

test("warns about a model that is not made for tool use", async () => {
  const { lines } = await runModel("hermes-4-70b", { lists: ok([{ id: "hermes-4-70b" }]) })
  expect(lines).toContain("hermes-4-70b is made for conversation, not for tool use; it may call tools incorrectly.")
})
