import { lstatSync, rmSync } from "node:fs"

import { isInside } from "../../base/is-inside.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { clearStopped } from "../../plugins/containment/stopped-plugins.ts"
import { failed } from "../failure.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import type { ListedPlugin } from "./list-plugins.ts"

/** Puts the plugin into `plugins.enabled` or `plugins.disabled`, and takes it out of the other list. One that was stopped may run again. */
export async function setPluginEnabled(
  context: HomeContext,
  { plugin, name }: ListedPlugin,
  enabled: boolean,
): Promise<Result<undefined, AdminFailure>> {
  const { config, home } = await loadHome(context)
  if (enabled) clearStopped(home, plugin.key)
  const others = (list: readonly string[]): readonly string[] =>
    list.filter((entry) => entry !== plugin.key && entry !== name)
  const enabledList = others(config.get("plugins.enabled"))
  const disabledList = others(config.get("plugins.disabled"))
  return await editConfig(context, [
    { path: "plugins.enabled", value: enabled ? [...enabledList, plugin.key] : enabledList },
    { path: "plugins.disabled", value: enabled ? disabledList : [...disabledList, plugin.key] },
  ])
}

/** Deletes the folder of a plugin that the user installed, and its entries in both lists. Its data stays. */
export async function removePlugin(
  context: HomeContext,
  { plugin, name }: ListedPlugin,
): Promise<Result<undefined, AdminFailure>> {
  const { home } = context
  if (plugin.source !== "user" || !isInside(plugin.directory, home.file("plugins")))
    return failed(
      `${name} is not installed in ${home.display(home.file("plugins"))}, so it is not removed; disable it instead`,
    )
  const { config } = await loadHome(context)
  // A link is removed, never what it points to.
  rmSync(plugin.directory, { recursive: !lstatSync(plugin.directory).isSymbolicLink(), force: true })
  clearStopped(home, plugin.key)
  const lists = ["plugins.enabled", "plugins.disabled"] as const
  const edits = lists.flatMap((path) => {
    const list = config.get(path)
    const kept = list.filter((entry) => entry !== plugin.key && entry !== name)
    return kept.length === list.length ? [] : [{ path, value: kept }]
  })
  return edits.length === 0 ? ok(undefined) : await editConfig(context, edits)
}
