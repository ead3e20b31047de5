// Writes src/llm/catalog/catalog.generated.json from the model data of @earendil-works/pi-ai (MIT). Run it manually for a new
// release of that package: `node scripts/generate-model-catalog.mjs [VERSION]`. It needs the npm registry and installs nothing.
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const PACKAGE = "@earendil-works/pi-ai"
const version = process.argv[2] ?? "1.5.0"
const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const target = join(root, "src/llm/catalog/catalog.generated.json")

/** Maps provider names of the package to ours. Other providers are not included. */
const PROVIDERS = {
  openrouter: "openrouter",
  openai: "openai-api",
  anthropic: "anthropic",
  "openai-codex": "openai-codex",
  google: "gemini",
  deepseek: "deepseek",
  xai: "xai",
  zai: "zai",
  moonshotai: "kimi-coding",
  "moonshotai-cn": "kimi-coding-cn",
  minimax: "minimax",
  "minimax-cn": "minimax-cn",
  nvidia: "nvidia",
  huggingface: "huggingface",
  "github-copilot": "copilot",
  xiaomi: "xiaomi",
  opencode: "opencode-zen",
  "opencode-go": "opencode-go",
  mistral: "mistral",
  groq: "groq",
  cerebras: "cerebras",
  together: "together",
  fireworks: "fireworks",
  baseten: "baseten",
  meta: "meta",
  azure: "azure-openai",
  "amazon-bedrock": "bedrock",
  "google-vertex": "vertex",
}

/** Model capabilities as bits, which `src/llm/catalog/catalog.ts` reads. */
const FLAGS = [
  [1, (model) => model.reasoning === true],
  [2, (model) => model.input.includes("image")],
  [4, (model) => model.compat?.supportsTemperature === false],
  [8, (model) => model.compat?.forceAdaptiveThinking === true],
]

const scratch = mkdtempSync(join(tmpdir(), "hermes-catalog-"))
try {
  execFileSync("npm", ["pack", "--silent", `${PACKAGE}@${version}`], { cwd: scratch, stdio: "inherit" })
  execFileSync("sh", ["-c", "tar xzf *.tgz"], { cwd: scratch })
  const { MODELS } = await import(pathToFileURL(join(scratch, "package/dist/models.generated.js")).href)
  writeFileSync(target, render(MODELS))
  execFileSync(process.execPath, [join(root, "node_modules/oxfmt/bin/oxfmt"), target], { stdio: "inherit" })
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** Writes one line for each model, for readable diffs between releases. */
function render(models) {
  const blocks = Object.entries(PROVIDERS).map(([packageName, provider]) => {
    const rows = Object.values(models[packageName] ?? {})
      // At OpenRouter, ~ marks aliases of the latest model, which our own aliases replace, and :batch marks batch processing.
      .filter((model) => model.type === "chat" && !model.id.startsWith("~") && !model.id.endsWith(":batch"))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((model) => `      ${JSON.stringify(model.id)}: ${array(row(model))}`)
    if (rows.length === 0) throw new Error(`${PACKAGE} ${version} has no models for ${packageName}`)
    return `    ${JSON.stringify(provider)}: {\n${rows.join(",\n")}\n    }`
  })
  const head = `  "version": ${JSON.stringify(`${PACKAGE.split("/")[1]} ${version}`)},`
  return `{\n${head}\n  "providers": {\n${blocks.join(",\n")}\n  }\n}\n`
}

/** [context, maximum output, input, output, cache read, cache write, flags, then for each tier: minimum tokens and four prices]. */
function row(model) {
  const flags = FLAGS.reduce((sum, [bit, holds]) => sum + (holds(model) ? bit : 0), 0)
  const free = model.id.endsWith(":free")
  const tiers = (model.cost.tiers ?? []).toSorted((a, b) => a.inputTokensAbove - b.inputTokensAbove)
  return [
    model.contextWindow,
    model.maxTokens,
    ...prices(model.cost, free),
    flags,
    ...tiers.flatMap((tier) => [tier.inputTokensAbove, ...prices(tier, free)]),
  ]
}

/** In the package, 0 also means that the price is unknown. Only free models have a price of 0. */
function prices(cost, free) {
  return [cost.input, cost.output, cost.cacheRead, cost.cacheWrite].map((price) => (price > 0 || free ? price : null))
}

function array(values) {
  return `[${values.map((value) => JSON.stringify(value)).join(", ")}]`
}
