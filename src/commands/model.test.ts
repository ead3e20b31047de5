import { describe, expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { loadConfig } from "../config/load.ts"
import type { ListedModel } from "../llm/catalog/model-list.ts"
import { storeList } from "../llm/catalog/list-cache.ts"
import { chooseModel, type ChosenModel, type ModelWish } from "../llm/choose-model.ts"
import type { ModelRuntime } from "../llm/model.ts"
import { modelCommand } from "./model.ts"
import type { SlashContext } from "./slash-command.ts"

interface Place {
  readonly config?: string
  /** What the endpoint lists when it is asked; absent where no list can be fetched. */
  readonly lists?: Result<readonly ListedModel[]>
  /** What was listed before. */
  readonly kept?: readonly ListedModel[]
  readonly confirms?: boolean
  readonly provider?: string
  /** Tokens of the last request. */
  readonly sent?: number
}

interface Said {
  readonly lines: readonly string[]
  readonly switched: readonly string[]
  readonly kept: readonly string[]
  readonly asked: readonly string[]
}

/** Keys for Anthropic, Z.AI and OpenAI; the conversation is with Anthropic unless told. */
async function say(argument: string, place: Place = {}): Promise<Said> {
  await using temporary = await temporaryHome(place.config === undefined ? {} : { config: place.config })
  const environment = environmentFrom({
    ...temporary.env,
    ANTHROPIC_API_KEY: "sk-ant-0123456789",
    GLM_API_KEY: "glm-0123456789",
    OPENAI_API_KEY: "sk-0123456789",
  })
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  if (place.kept !== undefined) storeList(home, "https://api.anthropic.com", { models: place.kept, fetchedAt: 1 })
  const { lists, confirms } = place
  const [switched, kept, asked]: [string[], string[], string[]] = [[], [], []]
  const named = ({ model, provider }: ModelRuntime): string => `${provider} ${model}`
  const context = {
    app: {
      config,
      home,
      chooseModel: (wish: ModelWish) => chooseModel(wish, { config, environment, stored: [], home }),
      rememberModel: (runtime: ModelRuntime) => {
        kept.push(named(runtime))
        return Promise.resolve(ok(undefined))
      },
      refreshModels: ({ runtime }: ChosenModel) => {
        if (lists !== undefined) asked.push(runtime.provider)
        return Promise.resolve(lists ?? fail("cannot be asked"))
      },
    },
    session: {
      facts: { model: "claude-sonnet-4-6", provider: place.provider ?? "anthropic" },
      context: { lastPromptTokens: place.sent ?? 0 },
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
  return { lines: outcome.kind === "say" ? outcome.text.split("\n") : [outcome.kind], switched, kept, asked }
}

test("alone it shows what answers here", async () => {
  expect((await say("")).lines).toEqual([
    "claude-sonnet-4-6 (anthropic)",
    "context      1M tokens, answers up to 128K",
    "abilities    sees images, thinks",
    "Change it with /model NAME, and for later sessions with --global or `hermes model`.",
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

describe("goes on with", () => {
  test.each<[string, string, Place?]>([
    ["opus", "anthropic claude-opus-5-5"],
    ["claude-opus-5.5", "anthropic claude-opus-5-5"],
    ["zai:glm-5.3", "zai glm-5.3"],
    // A short name, and a full one, that somebody else with a key serves.
    ["glm", "zai glm-5.3"],
    ["gpt-4.1-mini", "openai-api gpt-4.1-mini"],
    ["fast", "zai glm-5.3", { config: OWN }],
    ["--provider my-box declared", "my-box declared", { config: OWN, lists: ok([]) }],
    ["custom:my-box:declared", "my-box declared", { config: OWN, lists: ok([]) }],
    ["--provider usual", "usual house", { config: OWN, lists: ok([{ id: "house" }]) }],
    ["--provider my-box", "my-box only-one", { config: OWN, lists: ok([{ id: "only-one" }]) }],
    ["--provider my-box qwen3", "my-box qwen3", { config: OWN, lists: ok([{ id: "qwen3:latest" }]) }],
    ["brand-new", "anthropic brand-new", { lists: ok([{ id: "brand-new" }]) }],
    ["kept-before", "anthropic kept-before", { kept: [{ id: "kept-before" }], lists: ok([]) }],
  ])("%s: %s", async (argument, expected, place) => {
    const { switched, lines } = await say(argument, place)
    const [provider = "", model = ""] = expected.split(" ")
    expect([switched, lines[0]]).toEqual([[expected], `Now ${model} (${provider}) answers.`])
  })

  test("the same in later sessions", async () => {
    const { lines, kept } = await say("opus --global")
    expect([lines[1], kept]).toEqual(["Later sessions start with it too.", ["anthropic claude-opus-5-5"]])
  })
})

describe("a name that nobody lists", () => {
  test("is refused where the endpoint's list can be had, with the closest one", async () => {
    const said = await say("claude-opsu-9", { lists: ok([{ id: "claude-opus-9" }, { id: "other" }]) })
    expect(said).toEqual({
      lines: ['anthropic lists no model "claude-opsu-9"; the closest name there is claude-opus-9.'],
      switched: [],
      kept: [],
      asked: ["anthropic"],
    })
  })

  test("is taken with a doubt where it cannot", async () => {
    const { lines, switched } = await say("claude-opus-5-55", { lists: fail("does not answer") })
    expect([lines[1], switched]).toEqual([
      "It is not in the catalogue; the closest name there is claude-opus-5-5.",
      ["anthropic claude-opus-5-55"],
    ])
  })
})

describe("changes nothing and says why", () => {
  test.each<[string, string, Place?]>([
    ["grok", 'Anthropic has no model that "grok" stands for, and nobody else with a key here has one.'],
    ["--provider anthropic grok", 'Anthropic has no model that "grok" stands for.'],
    [
      "--provider deepseek deepseek-v4-pro",
      "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`; `hermes model` asks for it.",
    ],
    [
      "--provider meta-llama x",
      "meta-llama makes models but is no provider here; name one that serves them, for example --provider openrouter.",
    ],
    [
      "--provider my-box",
      "my-box has several models, name one: a, b.",
      { config: OWN, lists: ok([{ id: "a" }, { id: "b" }]) },
    ],
    ["--provider my-box", "my-box has no models.", { config: OWN, lists: ok([]) }],
    ["--provider my-box", "my-box does not answer; name a model too.", { config: OWN, lists: fail("does not answer") }],
    ["a b", 'give one model, not "a b".'],
  ])("%s: %s", async (argument, sentence, place) => {
    const { lines, switched } = await say(argument, place)
    expect([lines, switched]).toEqual([[sentence], []])
  })

  test("an unknown provider", async () => {
    const { lines, switched } = await say("--provider nobody x")
    expect([lines[0]?.startsWith('unknown provider "nobody"'), switched]).toEqual([true, []])
  })
})

describe("--refresh", () => {
  test.each<[string, Place, string]>([
    ["--refresh", { lists: ok([{ id: "a" }, { id: "b" }]) }, "anthropic lists 2 models."],
    ["--refresh", { lists: fail("refuses the key") }, "anthropic refuses the key."],
    ["--refresh --provider deepseek", {}, "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`."],
  ])("%s", async (argument, place, line) => {
    expect((await say(argument, place)).lines).toContain(line)
  })

  test("and a model: the list first, then the switch", async () => {
    const { lines, switched } = await say("opus --refresh", { lists: ok([{ id: "a" }]) })
    expect([lines.slice(0, 2), switched]).toEqual([
      ["anthropic lists one model.", "Now claude-opus-5-5 (anthropic) answers."],
      ["anthropic claude-opus-5-5"],
    ])
  })
})

describe("an expensive model", () => {
  const DEAR = "o1-pro is expensive: $150 in, $600 out for a million tokens"

  test("is used when the person says yes", async () => {
    const { switched, asked, lines } = await say("o1-pro", { confirms: true })
    expect([switched, asked[0]?.startsWith(DEAR), asked[0]?.endsWith("Use it?")]).toEqual([
      ["openai-api o1-pro"],
      true,
      true,
    ])
    expect(lines.some((line) => line.includes("expensive"))).toBe(false)
  })

  test("is not used when the person says no", async () => {
    const { switched, lines } = await say("o1-pro --global", { confirms: false })
    expect([switched, lines]).toEqual([[], ["Nothing was changed."]])
  })

  test("is used with a warning where nobody can be asked", async () => {
    const { switched, lines } = await say("o1-pro")
    expect([switched, lines.some((line) => line.startsWith(DEAR))]).toEqual([["openai-api o1-pro"], true])
  })

  test("nobody is asked about a modest one", async () => {
    expect((await say("opus", { confirms: false })).switched).toEqual(["anthropic claude-opus-5-5"])
  })
})

test("in the middle of a conversation it is said that the new model has nothing of it in its cache", async () => {
  const [first, second] = (await say("glm-5 --provider zai", { sent: 12_345 })).lines
  expect(first).toBe("Now glm-5 (zai) answers.")
  expect(second).toMatch(/prompt cache yet.* all 12\.3K tokens anew\.$/)
})

test("a model that is not made for tools is said to be one", async () => {
  const { lines } = await say("hermes-4-70b", { lists: ok([{ id: "hermes-4-70b" }]) })
  expect(lines).toContain("hermes-4-70b is made for conversation, not for tool use; expect it to call tools badly.")
})
