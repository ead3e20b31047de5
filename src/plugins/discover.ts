import { existsSync, readdirSync, realpathSync, statSync } from "node:fs"
import { join, resolve } from "node:path"

import { isInside } from "../base/is-inside.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { readRegularFile } from "../base/regular-file.ts"
import { errorMessage, isNotFound } from "../base/system-error.ts"
import type { PluginManifest } from "./contract.ts"
import { MAX_MANIFEST_BYTES, readManifest } from "./manifest.ts"

export type PluginSource = "bundled" | "user" | "project" | "package"

/** A folder that is or claims to be a plugin. None of its code has run. */
export interface FoundPlugin {
  /** `<folder>` or `<category>/<folder>`. */
  readonly key: string
  readonly source: PluginSource
  readonly directory: string
  readonly content:
    | { readonly kind: "plugin"; readonly manifest: PluginManifest; readonly main: string }
    /** Only Python files: a plugin of the Python edition. */
    | { readonly kind: "python" }
    | { readonly kind: "broken"; readonly problem: string; readonly manifest?: PluginManifest }
  readonly warnings: readonly string[]
}

export interface PluginFolders {
  readonly bundled: string | undefined
  readonly user: string
  readonly project: string | undefined
  /** Package names, and the directory from which they are resolved. */
  readonly packages: readonly string[]
  readonly packageRoot: string
}

export interface Discovery {
  /** Sorted by key. Later sources have replaced earlier ones with the same key. */
  readonly plugins: readonly FoundPlugin[]
  /** Folders that could not be read. */
  readonly problems: readonly string[]
}

/** Reads the manifests of all sources. Runs no code. */
export function discoverPlugins(folders: PluginFolders): Discovery {
  const problems: string[] = []
  const scan = (directory: string | undefined, source: PluginSource): readonly FoundPlugin[] => {
    if (directory === undefined) return []
    try {
      return scanFolder(directory, source)
    } catch (error) {
      problems.push(`${directory} could not be read: ${errorMessage(error)}`)
      return []
    }
  }
  const found = [
    ...scan(folders.bundled, "bundled"),
    ...scan(folders.user, "user"),
    ...scan(folders.project, "project"),
    ...folders.packages.flatMap((name) => packagePlugin(name, folders.packageRoot)),
  ]
  const byKey = new Map(found.map((plugin) => [plugin.key, plugin]))
  return { plugins: [...byKey.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1)), problems }
}

/** One folder as a plugin; undefined when it has neither a manifest nor Python code. */
export function readPluginFolder(
  directory: string,
  found: Pick<FoundPlugin, "key" | "source">,
): FoundPlugin | undefined {
  const folder = found.key.slice(found.key.lastIndexOf("/") + 1)
  const path = MANIFEST_NAMES.map((name) => join(directory, name)).find((candidate) => existsSync(candidate))
  const base = { ...found, directory, warnings: [] }
  if (path === undefined) return isPython(directory) ? { ...base, content: { kind: "python" } } : undefined
  let text: string
  try {
    text = readRegularFile(path, { maxBytes: MAX_MANIFEST_BYTES }).bytes.toString("utf8")
  } catch (error) {
    return { ...base, content: { kind: "broken", problem: `plugin.yaml could not be read: ${errorMessage(error)}` } }
  }
  const read = readManifest(text, folder)
  if (!read.ok) return { ...base, content: { kind: "broken", problem: read.error } }
  const { manifest, warnings } = read.value
  const main = mainModule(directory, manifest)
  if (main === undefined && isPython(directory)) return { ...base, warnings, content: { kind: "python" } }
  return {
    ...base,
    warnings,
    content:
      main === undefined
        ? { kind: "broken", manifest, problem: missingMain(manifest) }
        : { kind: "plugin", manifest, main },
  }
}

const MANIFEST_NAMES = ["plugin.yaml", "plugin.yml"]
const DEFAULT_MAINS = ["index.mjs", "index.js", "dist/index.js"]

function scanFolder(directory: string, source: PluginSource): readonly FoundPlugin[] {
  return subfolders(directory).flatMap((folder) => {
    const path = join(directory, folder)
    const plugin = readPluginFolder(path, { key: folder, source })
    if (plugin !== undefined) return [plugin]
    // A folder without a manifest is a category.
    return subfolders(path).flatMap(
      (inner) => readPluginFolder(join(path, inner), { key: `${folder}/${inner}`, source }) ?? [],
    )
  })
}

function subfolders(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith(".") && name !== "node_modules" && isDirectory(join(directory, name)))
      .toSorted()
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isPython(directory: string): boolean {
  return readdirSync(directory).some((name) => name.endsWith(".py"))
}

/** The module must be a file inside the folder, also when links are followed. */
function mainModule(directory: string, { main }: PluginManifest): string | undefined {
  const candidates = main === undefined ? DEFAULT_MAINS : [main]
  return candidates
    .map((name) => resolve(directory, name))
    .find((path) => {
      try {
        return statSync(path).isFile() && isInside(realpathSync(path), realpathSync(directory))
      } catch {
        // It does not exist.
        return false
      }
    })
}

function missingMain({ main }: PluginManifest): string {
  return main === undefined
    ? `there is no module: expected one of ${DEFAULT_MAINS.join(", ")}`
    : `\`main\` names ${main}, which is not a file in the folder of the plugin`
}

/** An installed package that declares `hermesPlugin: true` or the folder of its plugin. */
function packagePlugin(name: string, root: string): readonly FoundPlugin[] {
  const directory = resolve(root, "node_modules", name)
  const found = { key: name.replace(/^@/u, "").replaceAll("/", "-"), source: "package" as const }
  const broken = (problem: string): readonly FoundPlugin[] => [
    { ...found, directory, warnings: [], content: { kind: "broken", problem } },
  ]
  if (!isInside(directory, resolve(root, "node_modules"))) return broken(`${name} is not the name of a package`)
  try {
    const { bytes } = readRegularFile(join(directory, "package.json"), { maxBytes: 1_000_000 })
    const metadata = parseJson(bytes.toString("utf8"))
    const declared = isRecord(metadata) ? metadata["hermesPlugin"] : undefined
    if (declared !== true && typeof declared !== "string")
      return broken(`the package ${name} does not declare hermesPlugin in package.json`)
    const folder = typeof declared === "string" ? resolve(directory, declared) : directory
    if (!isInside(folder, directory)) return broken(`hermesPlugin of the package ${name} names a folder outside of it`)
    const plugin = readPluginFolder(folder, found)
    return plugin === undefined ? broken(`the package ${name} has no plugin.yaml in ${folder}`) : [plugin]
  } catch {
    return broken(`the package ${name} is not installed in ${root}`)
  }
}
