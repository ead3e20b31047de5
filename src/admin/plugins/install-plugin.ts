import { cpSync, existsSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync } from "node:fs"
import { basename, join, resolve } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { PluginManifest } from "../../plugins/contract.ts"
import { clearStopped } from "../../plugins/containment/stopped-plugins.ts"
import { readPluginFolder } from "../../plugins/discover.ts"
import { PYTHON_PLUGIN } from "../../plugins/select.ts"
import { failed } from "../failure.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { clonePlugin, fastForward } from "./clone-plugin.ts"
import { parsePluginAddress } from "./plugin-address.ts"

export interface InstalledPlugin {
  readonly manifest: PluginManifest
  readonly directory: string
  /** About the address and what was not done. */
  readonly warnings: readonly string[]
}

/** Copies or clones a plugin into the home. Its code does not run, and it is not enabled. */
export async function installPlugin(
  context: HomeContext,
  address: string,
  options: { readonly force: boolean; readonly cwd: string; readonly signal: AbortSignal },
): Promise<Result<InstalledPlugin, AdminFailure>> {
  const { home, environment } = context
  const local = resolve(
    options.cwd,
    address.replace(/^~(?=\/)/u, () => home.userHome),
  )
  const isLocal = existsSync(local) && statSync(local).isDirectory()
  const parsed = isLocal ? undefined : parsePluginAddress(address)
  if (!isLocal && parsed === undefined)
    return failed(`"${address}" is neither a folder nor an address of a git repository (https://…, owner/repo)`)
  const folder = home.file("plugins")
  makeDirectories(folder)
  const temporary = mkdtempSync(join(folder, ".install-"))
  try {
    const target = join(temporary, "content")
    if (parsed === undefined)
      cpSync(local, target, {
        recursive: true,
        verbatimSymlinks: true,
        filter: (from) => basename(from) !== "node_modules",
      })
    else {
      const cloned = await clonePlugin(parsed.url, target, { environment, signal: options.signal })
      if (!cloned.ok) return failed(cloned.error)
    }
    const source = resolve(target, parsed?.path ?? ".")
    if (!existsSync(source) || !isInside(realpathSync(source), realpathSync(target)))
      return failed(`"${parsed?.path ?? address}" is not a folder of the repository`)
    const fallback = basename((parsed?.path ?? "") || (parsed?.url ?? local).replace(/\.git$/u, ""))
    const plugin = readPluginFolder(source, { key: fallback, source: "user" })
    if (plugin === undefined) return failed(`"${address}" has no plugin.yaml`)
    if (plugin.content.kind === "python") return failed(`"${address}": ${PYTHON_PLUGIN}`)
    if (plugin.content.kind === "broken") return failed(`"${address}" was not installed: ${plugin.content.problem}`)
    const { manifest } = plugin.content
    const directory = join(folder, manifest.name)
    if (existsSync(directory)) {
      if (!options.force) return failed(`the plugin ${manifest.name} is already installed; --force replaces it`)
      rmSync(directory, { recursive: true })
    }
    renameSync(source, directory)
    clearStopped(home, manifest.name)
    const dependencies = existsSync(join(directory, "package.json")) && !existsSync(join(directory, "node_modules"))
    return ok({
      manifest,
      directory,
      warnings: [
        ...(parsed?.warning === undefined ? [] : [parsed.warning]),
        ...(dependencies
          ? ["packages that package.json lists are not installed; a plugin should contain what it needs"]
          : []),
      ],
    })
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Fast-forwards a plugin that was installed with git. New content that cannot be used is undone. */
export async function updatePlugin(
  { home, environment }: HomeContext,
  { key, directory }: { readonly key: string; readonly directory: string },
  signal: AbortSignal,
): Promise<Result<"updated" | "current", AdminFailure>> {
  if (!existsSync(join(directory, ".git")))
    return failed(`the plugin ${key} was not installed with git; install it again with --force`)
  const problem = (): string | undefined => {
    const content = readPluginFolder(directory, { key, source: "user" })?.content
    if (content === undefined) return "its new version has no plugin.yaml"
    if (content.kind === "python") return PYTHON_PLUGIN
    return content.kind === "broken" ? content.problem : undefined
  }
  const moved = await fastForward(directory, problem, { environment, signal })
  if (!moved.ok) return failed(`the plugin ${key} was not updated: ${moved.error}`)
  if (moved.value === "updated") clearStopped(home, key)
  return ok(moved.value)
}
