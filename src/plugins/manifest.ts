import { z } from "zod"

import { isRecord } from "../base/json.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import { visibleText } from "../base/visible-text.ts"
import { parseYaml } from "../config/document/yaml-document.ts"
import { scanThreats } from "../knowledge/threat-scan.ts"
import type { PluginCapability, PluginKind, PluginManifest, PluginVariable } from "./contract.ts"

export const MAX_MANIFEST_BYTES = 64_000
export const MANIFEST_VERSION = 1
export const PLUGIN_KINDS: readonly PluginKind[] = ["standalone", "backend", "exclusive", "platform", "model-provider"]

export interface ReadManifest {
  readonly manifest: PluginManifest
  readonly warnings: readonly string[]
}

/** Parses `plugin.yaml`. The error is one clause that names the problem, with its line where there is one. */
export function readManifest(text: string, folder: string): Result<ReadManifest> {
  const threat = manifestThreat(text)
  if (threat !== undefined) return fail(threat)
  const yaml = parseYaml(text)
  if (!yaml.ok) return fail(`plugin.yaml, line ${yaml.error.line}: ${yaml.error.message}`)
  const parsed = Fields.safeParse(yaml.value.tree)
  if (!parsed.success) return fail(fieldProblem(parsed.error.issues))
  const { kind: named, manifest_version: version, main, engines, config_schema: configSchema, ...fields } = parsed.data
  if (version > MANIFEST_VERSION)
    return fail(`plugin.yaml has manifest_version ${version}; this release supports ${MANIFEST_VERSION}`)
  const kind = PLUGIN_KINDS.find((known) => known === named)
  const name = fields.name ?? folder
  if (!isPluginName(name))
    return fail(`plugin.yaml: ${JSON.stringify(ellipsize(name, 60))} cannot be the name of a plugin`)
  return ok({
    manifest: {
      name,
      author: fields.author,
      license: fields.license,
      homepage: fields.homepage,
      version: fields.version ?? "",
      description: fields.description ?? "",
      kind: kind ?? "standalone",
      requiresEnv: fields.requires_env.map(variableOf),
      optionalEnv: fields.optional_env.map(variableOf),
      provides: providedNames(yaml.value.tree),
      capabilities: fields.capabilities,
      ...(configSchema === undefined ? {} : { configSchema }),
      ...(engines?.hermes === undefined ? {} : { hermes: engines.hermes }),
      ...(main === undefined ? {} : { main }),
    },
    warnings:
      kind === undefined && named !== undefined ? [`unknown kind ${JSON.stringify(named)}; treated as standalone`] : [],
  })
}

/** A name that is also a folder name. */
export function isPluginName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/u.test(name) && !name.includes("..")
}

/** Descriptions of plugins are shown to users and to models, so text that instructs a model blocks the plugin. */
function manifestThreat(text: string): string | undefined {
  const threats = scanThreats(text, "context")
  if (threats.length === 0) return undefined
  const lines = text.split("\n")
  const at = Math.max(
    0,
    lines.findIndex((line) => scanThreats(line, "context").length > 0),
  )
  const shown = ellipsize(visibleText((lines[at] ?? "").trim()).text, 160)
  return `plugin.yaml, line ${at + 1}, contains instructions for the model: "${shown}" (${threats.join(", ")})`
}

const CAPABILITIES: readonly PluginCapability[] = [
  "tools",
  "hooks",
  "middleware",
  "commands",
  "cli",
  "llm",
  "inject",
  "dispatch",
  "platform",
  "network-listen",
]

const Text = z.union([z.string(), z.number()]).transform(String)
const Variable = z.union([
  z.string().min(1),
  z.object({
    name: z.string().min(1),
    description: z.string().optional(),
    url: z.string().optional(),
    secret: z.boolean().optional(),
    password: z.boolean().optional(),
  }),
])

const Fields = z.object({
  name: Text.optional(),
  version: Text.optional(),
  description: z.string().optional(),
  author: Text.optional(),
  license: z.string().optional(),
  homepage: z.string().optional(),
  manifest_version: z.int().default(1),
  kind: z.string().optional(),
  main: z.string().min(1).optional(),
  engines: z.object({ hermes: z.string().optional() }).optional(),
  requires_env: z.array(Variable).default([]),
  optional_env: z.array(Variable).default([]),
  capabilities: z.array(z.enum(CAPABILITIES)).default([]),
  config_schema: z.record(z.string(), z.unknown()).optional(),
})

function fieldProblem(issues: readonly z.core.$ZodIssue[]): string {
  const [first] = issues
  const where = first?.path.map((step) => String(step)).join(".") ?? ""
  return `plugin.yaml: \`${where}\` is not valid: ${first?.message ?? "unknown problem"}`
}

function variableOf(given: z.infer<typeof Variable>): PluginVariable {
  if (typeof given === "string") return { name: given, description: "", secret: true }
  const { name, description = "", url, secret, password } = given
  return { name, description, secret: secret ?? password ?? false, ...(url === undefined ? {} : { url }) }
}

/** `provides_tools`, `provides_hooks` and so on. */
function providedNames(tree: Readonly<Record<string, unknown>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]): [string, readonly string[]][] => {
      if (!key.startsWith("provides_") || !Array.isArray(value)) return []
      const names = value.map((item: unknown) => (isRecord(item) ? item["name"] : item))
      return [[key.slice("provides_".length), names.filter((name) => typeof name === "string")]]
    }),
  )
}
