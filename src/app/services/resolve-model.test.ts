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

/** The resolution as `provider model`, or the error. */
async function resolved(selection: ModelSelection, { config, keys = BOTH }: TestHome = {}): Promise<string> {
  await using temporary = await temporaryHome(config === undefined ? {} : { config })
  const environment = environmentFrom({ ...temporary.env, ...keys })
  const home = resolveHome(environment)
  const settings = await loadConfig({ home, environment })
  const found = await resolveModelOption(selection, {
    config: settings,
    home,
    chooseModel: (wanted) => chooseModel(wanted, { config: settings, environment, storedProviders: [], home }),
  })
  return found.ok ? `${found.value.provider ?? "-"} ${found.value.model ?? "-"}` : found.error
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
  const found = await resolved(selection, home)
  if (typeof expected === "string") expect(found).toBe(expected)
  else expect(found).toMatch(expected)
})
