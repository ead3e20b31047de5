import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { isRecord } from "../../base/json.ts"
import { hasPath, treeFrom, valueAt, type Path, type Tree } from "../document/document-tree.ts"
import type { ConfigEdit } from "../edit-config.ts"
import type { Environment } from "../environment.ts"
import type { Home } from "../home.ts"
import { providersFromList } from "./legacy-settings.ts"
import { settingEntries, settingOf } from "../settings.ts"

export interface MigrationContext {
  readonly home: Home
  readonly environment: Environment
}

export interface StepOutcome {
  readonly edits?: readonly ConfigEdit[]
  /** Variables to remove from `.env`. */
  readonly variables?: readonly string[]
  readonly warnings?: readonly string[]
}

export interface MigrationStep {
  /** The version after this step. */
  readonly to: number
  readonly run: (tree: Tree, context: MigrationContext) => StepOutcome
}

/** In order; a migration runs the steps above the file's version. */
export const MIGRATION_STEPS: readonly MigrationStep[] = [
  { to: 4, run: (tree, { environment }) => toolProgress(tree, environment) },
  { to: 5, run: (tree, { environment }) => timezone(tree, environment) },
  { to: 9, run: () => ({ variables: ["ANTHROPIC_TOKEN"] }) },
  { to: 12, run: customProviders },
  { to: 13, run: () => ({ variables: ["LLM_MODEL", "OPENAI_MODEL"] }) },
  { to: 14, run: speechModel },
  { to: 15, run: (tree) => ({ edits: addMissing(tree, "display.interim_assistant_messages", true) }) },
  { to: 16, run: progressOverrides },
  { to: 17, run: summaryModel },
  { to: 21, run: (tree, { home }) => pluginsOptIn(tree, home) },
  { to: 23, run: curator },
  { to: 25, run: catalogueAge },
  { to: 29, run: writeModes },
]

/** Runs with every migration: disables an MCP server that downloads and runs a script, until the user enables it again. */
export function disableShellServers(tree: Tree): StepOutcome {
  const servers = tree["mcp_servers"]
  if (!isRecord(servers)) return {}
  const suspicious = Object.entries(servers).filter(
    ([, server]) => isRecord(server) && server["enabled"] !== false && isShellOneLiner(server),
  )
  return {
    edits: suspicious.map(([name]) => ({ path: ["mcp_servers", name, "enabled"], value: false })),
    warnings: suspicious.map(
      ([name]) =>
        `the MCP server "${name}" downloads and runs a script, so it was disabled; set mcp_servers.${name}.enabled to true if you trust it`,
    ),
  }
}

function isShellOneLiner(server: Tree): boolean {
  const command = typeof server["command"] === "string" ? server["command"] : ""
  const words = Array.isArray(server["args"]) ? server["args"].map(String) : []
  const line = [command, ...words].join(" ")
  if (/\b(?:curl|wget|fetch)\b[^|]*\|\s*(?:sudo\s+)?(?:\S*\/)?(?:ba|z|da|k|fi)?sh\b/.test(line)) return true
  const isShell = /(?:^|\/)(?:ba|z|da|k|fi)?sh$/.test(command.trim().split(/\s+/)[0] ?? "")
  return isShell && / -\w*c\b/.test(line) && /\b(?:curl|wget)\b|https?:\/\//.test(line)
}

function toolProgress(tree: Tree, environment: Environment): StepOutcome {
  const variables = ["HERMES_TOOL_PROGRESS", "HERMES_TOOL_PROGRESS_MODE"]
  const [shown, mode] = variables.map((name) => environment.get(name)?.trim().toLowerCase() ?? "")
  const words: readonly string[] = settingOf("display.tool_progress").values ?? []
  const value = ["0", "false", "no", "off"].includes(shown ?? "") ? "off" : mode
  if (value === undefined || !words.includes(value)) return { variables }
  return { variables, edits: addMissing(tree, "display.tool_progress", value) }
}

function timezone(tree: Tree, environment: Environment): StepOutcome {
  const zone = environment.get("HERMES_TIMEZONE")?.trim() ?? ""
  return { variables: ["HERMES_TIMEZONE"], edits: zone === "" ? [] : addMissing(tree, "timezone", zone) }
}

function customProviders(tree: Tree): StepOutcome {
  const list = tree["custom_providers"]
  if (!Array.isArray(list)) return {}
  const present = isRecord(tree["providers"]) ? Object.keys(tree["providers"]) : []
  const moved = providersFromList(list, present).map(([key, value]): ConfigEdit => ({
    path: ["providers", key],
    value,
  }))
  const lost = list.length - moved.length
  const warnings = lost === 0 ? [] : [`${lost} of your custom providers have no base_url and were not migrated`]
  return lost === 0 ? { edits: [...moved, { path: "custom_providers", remove: true }] } : { edits: moved, warnings }
}

function speechModel(tree: Tree): StepOutcome {
  const model = valueAt(tree, "stt.model")
  if (model === undefined) return {}
  const provider = valueAt(tree, "stt.provider")
  const path = `stt.${typeof provider === "string" && provider !== "" ? provider : "local"}.model`
  return { edits: [...addMissing(tree, path, model), { path: "stt.model", remove: true }] }
}

function progressOverrides(tree: Tree): StepOutcome {
  const overrides = valueAt(tree, "display.tool_progress_overrides")
  if (overrides === undefined) return {}
  const moved = isRecord(overrides)
    ? Object.entries(overrides).flatMap(([name, value]) =>
        addMissing(tree, ["display", "platforms", name, "tool_progress"], value),
      )
    : []
  return { edits: [...moved, { path: "display.tool_progress_overrides", remove: true }] }
}

function summaryModel(tree: Tree): StepOutcome {
  const edits = ["model", "provider", "base_url"].flatMap((field): ConfigEdit[] => {
    const path = `compression.summary_${field}`
    const value = valueAt(tree, path)
    if (value === undefined) return []
    const moved = value === null || value === "" ? [] : addMissing(tree, `auxiliary.compression.${field}`, value)
    return [...moved, { path, remove: true }]
  })
  return { edits }
}

function pluginsOptIn(tree: Tree, home: Home): StepOutcome {
  if (hasPath(tree, "plugins.enabled")) return {}
  const disabled = valueAt(tree, "plugins.disabled")
  const names = installedPlugins(home).filter((name) => !Array.isArray(disabled) || !disabled.includes(name))
  return names.length === 0 ? {} : { edits: [{ path: "plugins.enabled", value: names }] }
}

function installedPlugins(home: Home): readonly string[] {
  const directories = subdirectories(home.file("plugins"))
  const found = directories.flatMap((directory) =>
    isPlugin(directory.path)
      ? [directory.name]
      : subdirectories(directory.path)
          .filter((inner) => isPlugin(inner.path))
          .map((inner) => inner.name),
  )
  return [...new Set(found)].toSorted()
}

function subdirectories(path: string): { readonly name: string; readonly path: string }[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => ({ name: entry.name, path: join(path, entry.name) }))
  } catch {
    // No plugin directory, or not readable: no plugin is enabled, which is safe.
    return []
  }
}

function isPlugin(path: string): boolean {
  return ["plugin.yaml", "plugin.yml"].some(
    (name) => statSync(join(path, name), { throwIfNoEntry: false }) !== undefined,
  )
}

function curator(tree: Tree): StepOutcome {
  const keys = settingEntries().filter(([key]) => key.startsWith("curator."))
  const defaults = treeFrom(keys.map(([key, setting]) => [key, setting.default] as const))["curator"]
  const { provider, model, timeout } = settingOf("auxiliary.curator").default
  return {
    edits: [
      ...addMissing(tree, "curator", defaults),
      ...addMissing(tree, "auxiliary.curator", { provider, model, timeout }),
    ],
  }
}

function catalogueAge(tree: Tree): StepOutcome {
  const path = "model_catalog.ttl_hours"
  return valueAt(tree, path) === 24 ? { edits: [{ path, value: 1 }] } : {}
}

function writeModes(tree: Tree): StepOutcome {
  const edits = ["memory", "skills"].flatMap((section): ConfigEdit[] => {
    const mode = valueAt(tree, `${section}.write_mode`)
    if (mode === undefined) return []
    return [
      ...addMissing(tree, `${section}.write_approval`, mode === "approve"),
      { path: `${section}.write_mode`, remove: true },
    ]
  })
  return { edits }
}

function addMissing(tree: Tree, path: Path, value: unknown): ConfigEdit[] {
  return hasPath(tree, path) ? [] : [{ path, value }]
}
