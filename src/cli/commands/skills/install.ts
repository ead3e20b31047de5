import { scanForInstall } from "../../../admin/skills/install-skill.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { printScan } from "./print-scan.ts"

/** `hermes skills install` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, signal, home } = invocation
  const name = flags.text("name")
  const category = flags.text("category")
  const options = {
    force: flags.has("force"),
    ...(name === undefined ? {} : { name }),
    ...(category === undefined ? {} : { category }),
  }
  const context = { ...homeContext(invocation), signal }
  const scanned = valueOrCliError(await scanForInstall(positionals[0] ?? "", options, context))
  try {
    printScan(scanned, terminal)
    if (scanned.isAllowed && !(await confirmed(`Install ${scanned.name}?`, { terminal, assumed: flags.has("yes") }))) {
      terminal.line("Nothing was installed.")
      return 1
    }
    const installed = valueOrCliError(scanned.install())
    terminal.line(
      `Installed in ${home.display(home.file("skills", installed.install_path))}. New conversations list it.`,
    )
    return 0
  } finally {
    scanned.discard()
  }
}
