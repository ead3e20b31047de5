import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { stoppedReason } from "./containment/stopped-plugins.ts"
import type { PluginManifest } from "./contract.ts"
import type { FoundPlugin } from "./discover.ts"
import { satisfiesRange } from "./version-range.ts"

/** Whether a plugin is loaded, and why not. */
export type PluginState =
  | { readonly kind: "enabled"; readonly manifest: PluginManifest; readonly main: string }
  /** Nobody enabled it. */
  | { readonly kind: "not-enabled" }
  | { readonly kind: "disabled" }
  | { readonly kind: "unusable"; readonly reason: string }

interface SelectOptions {
  readonly home: Home
  readonly config: Config
  readonly environment: Environment
  /** The version of Hermes. */
  readonly version: string
}

export const PYTHON_PLUGIN = "python plugin — not supported by this edition"

export function selectPlugin(plugin: FoundPlugin, { home, config, environment, version }: SelectOptions): PluginState {
  const { content, key } = plugin
  if (content.kind === "python") return { kind: "unusable", reason: PYTHON_PLUGIN }
  const names = [key, ...(content.manifest === undefined ? [] : [content.manifest.name])]
  const isIn = (list: readonly string[]): boolean => list.some((name) => names.includes(name))
  if (isIn(config.get("plugins.disabled"))) return { kind: "disabled" }
  if (content.kind === "broken") return { kind: "unusable", reason: content.problem }
  const { manifest, main } = content
  const isChosen =
    manifest.kind === "exclusive"
      ? isIn([config.get("memory.provider"), config.get("context.engine")])
      : isIn(config.get("plugins.enabled")) || (plugin.source === "bundled" && loadsByItself(manifest))
  if (!isChosen) return { kind: "not-enabled" }
  const stopped = stoppedReason(home, key)
  if (stopped !== undefined) return { kind: "unusable", reason: stopped }
  const missing = manifest.requiresEnv.filter(({ name }) => (environment.get(name) ?? "") === "")
  if (missing.length > 0) return { kind: "unusable", reason: `missing: ${missing.map(({ name }) => name).join(", ")}` }
  const fits = manifest.hermes === undefined ? true : satisfiesRange(version, manifest.hermes)
  if (fits !== true) {
    const problem = fits === undefined ? "is not a version range" : `does not include this version (${version})`
    return { kind: "unusable", reason: `engines.hermes ${JSON.stringify(manifest.hermes)} ${problem}` }
  }
  return { kind: "enabled", manifest, main }
}

function loadsByItself({ kind }: PluginManifest): boolean {
  return kind === "backend" || kind === "platform"
}
