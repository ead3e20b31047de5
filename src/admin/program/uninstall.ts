import { lstatSync, readlinkSync, realpathSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { listProfiles } from "../../config/profiles/profiles.ts"
import { removeWrapper, wrapperOf } from "../../config/profiles/profile-wrapper.ts"
import type { HomeContext } from "../home-context.ts"
import type { Installation } from "./installation.ts"

/** What `hermes uninstall` would remove. */
export interface UninstallPlan {
  /** The commands of profiles in `~/.local/bin`. */
  readonly wrappers: readonly { readonly profile: string; readonly path: string }[]
  /** A link `hermes` in `~/.local/bin` to this program. */
  readonly link: string | undefined
  /** The home with everything in it. */
  readonly data: string
}

export async function planUninstall(
  { home, environment }: Pick<HomeContext, "home" | "environment">,
  { root }: Installation,
): Promise<UninstallPlan> {
  const profiles = await listProfiles({ home, environment })
  return {
    wrappers: profiles.flatMap(({ name }) => {
      const path = wrapperOf(name, { home, environment })
      return path === undefined ? [] : [{ profile: name, path }]
    }),
    link: ownLink(join(home.userHome, ".local", "bin", "hermes"), root),
    data: home.root,
  }
}

/** Removes the commands, and with `data` the home of all profiles. */
export function uninstall(
  { home, environment }: Pick<HomeContext, "home" | "environment">,
  plan: UninstallPlan,
  { data }: { readonly data: boolean },
): void {
  for (const { profile } of plan.wrappers) removeWrapper(profile, { home, environment })
  if (plan.link !== undefined) rmSync(plan.link, { force: true })
  if (data) rmSync(plan.data, { recursive: true, force: true })
}

/** Undefined for a link of another installation, or a file. */
function ownLink(path: string, root: string): string | undefined {
  try {
    if (!lstatSync(path).isSymbolicLink()) return undefined
    const target = resolve(dirname(path), readlinkSync(path))
    return realpathSync(target).startsWith(`${realpathSync(root)}/`) ? path : undefined
  } catch {
    // There is no such link, or its target is gone.
    return undefined
  }
}
