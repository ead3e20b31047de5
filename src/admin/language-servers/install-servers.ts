import { ok, type Result } from "../../base/result.ts"
import { installPackages } from "../../exec/language-server/install-server.ts"
import { projectServers } from "../../exec/language-server/project-servers.ts"
import { serversDirectory } from "../../exec/language-server/server-paths.ts"
import type { ConfiguredServer } from "../../exec/language-server/server-settings.ts"
import { failed, invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { findServers } from "./find-servers.ts"
import { loadServers, type LanguageServers } from "./load-servers.ts"

/** What installing the wanted servers involves. */
export interface InstallPlan {
  /** npm packages to install. */
  readonly packages: readonly string[]
  /** Servers that are not npm packages, which the user installs. */
  readonly manual: readonly { readonly name: string; readonly how: string }[]
  /** Where the packages go. */
  readonly directory: string
  /** The variables that npm runs with. */
  readonly environment: Readonly<Record<string, string>>
}

/** Plans the installation of the named servers, or of those that the project needs when no name is given. Installs nothing. */
export async function planInstall(
  context: HomeContext,
  { names, directory }: { readonly names: readonly string[]; readonly directory: string },
): Promise<Result<InstallPlan, AdminFailure>> {
  const loaded = await loadServers(context, { directory })
  const { config, environment, home } = loaded.home
  const strategy = config.get("lsp.install_strategy")
  if (strategy === "off") {
    return failed("lsp.install_strategy is off, so Hermes installs no language servers; set it to manual.")
  }
  if (names.length === 0 && strategy === "manual") {
    return invalid("Name the servers to install, as `hermes lsp list` shows them; lsp.install_strategy is manual.")
  }
  const wanted = names.length === 0 ? missingServers(loaded) : findServers(names, loaded.servers)
  if (!wanted.ok) return wanted
  return ok({
    packages: wanted.value.flatMap(({ install }) => (install.kind === "npm" ? install.packages : [])),
    manual: wanted.value.flatMap(({ name, install }) =>
      install.kind === "manual" ? [{ name, how: install.instructions }] : [],
    ),
    directory: serversDirectory(home.path),
    environment: environment.toObject(),
  })
}

/** Installs the npm packages of a plan. */
export async function installServers(
  { home }: HomeContext,
  { packages, environment, signal }: InstallPlan & { readonly signal: AbortSignal },
): Promise<Result<undefined, AdminFailure>> {
  const installed = await installPackages([...new Set(packages)], { home: home.path, environment, signal })
  return installed.ok ? installed : failed(`Nothing was installed: ${installed.error}.`)
}

function missingServers(loaded: LanguageServers): Result<readonly ConfiguredServer[], AdminFailure> {
  const { workTree, servers, locate } = loaded
  if (workTree === undefined) {
    return invalid("This is not a git work tree, so Hermes does not know which servers it needs; name a server.")
  }
  const needed = projectServers(workTree, servers).map(({ server }) => server)
  return ok(needed.filter((server) => locate(server) === undefined))
}
