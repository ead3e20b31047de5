import { installPackages } from "../../../exec/language-server/install-server.ts"
import { serversDirectory } from "../../../exec/language-server/places.ts"
import { projectServers } from "../../../exec/language-server/project-servers.ts"
import type { ConfiguredServer } from "../../../exec/language-server/server-settings.ts"
import { nearest } from "../../../base/nearest.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { howToInstall, serverReport } from "./server-report.ts"
import type { ServerReport } from "./server-report.ts"

/** `hermes lsp install [NAME…]` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal, home, signal } = invocation
  const report = await serverReport(invocation)
  const strategy = report.settings.config.get("lsp.install_strategy")
  if (strategy === "off") {
    throw new CliError("lsp.install_strategy is off, so Hermes installs no language servers; set it to manual.", {
      exitCode: 1,
    })
  }
  if (positionals.length === 0 && strategy === "manual") {
    throw new CliError(
      "Name the servers to install, as `hermes lsp list` shows them; lsp.install_strategy is manual.",
      {
        exitCode: 2,
      },
    )
  }
  const wanted = positionals.length === 0 ? neededHere(report) : positionals.map((name) => named(name, report))
  const packages = wanted.flatMap(({ install }) => (install.kind === "npm" ? install.packages : []))
  const byHand = wanted.filter(({ install }) => install.kind === "by-hand")
  for (const server of byHand)
    terminal.errLine(`${server.name} is no npm package; install it so: ${howToInstall(server)}`)
  if (packages.length === 0) {
    if (byHand.length === 0) terminal.line("Every server that this project needs is there.")
    return byHand.length > 0 && positionals.length > 0 ? 1 : 0
  }
  terminal.line(`Installing ${packages.join(" ")} into ${home.display(serversDirectory(home.path))} …`)
  const environment = report.settings.environment.toObject()
  const done = await installPackages([...new Set(packages)], { home: home.path, environment, signal })
  if (!done.ok) throw new CliError(`Nothing was installed: ${done.error}.`, { exitCode: 1 })
  terminal.line("Done.")
  return 0
}

function neededHere(report: ServerReport): readonly ConfiguredServer[] {
  if (report.tree === undefined) {
    throw new CliError("This is no git work tree, so nothing is known of what it needs; name a server.", {
      exitCode: 2,
    })
  }
  return projectServers(report.tree, report.servers)
    .map(({ server }) => server)
    .filter((server) => report.locate(server) === undefined)
}

function named(name: string, { servers }: ServerReport): ConfiguredServer {
  const found = servers.find((server) => server.name === name)
  if (found !== undefined) return found
  const names = servers.map((server) => server.name)
  const close = nearest(name, names)
  const hint = close === undefined ? "`hermes lsp list` shows those there are" : `did you mean ${close}?`
  throw new CliError(`There is no language server "${name}"; ${hint}`, { exitCode: 2 })
}
