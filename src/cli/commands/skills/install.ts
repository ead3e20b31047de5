import {
  scanAllForInstall,
  scanForInstall,
  type InstallContext,
  type ScannedSkill,
} from "../../../admin/skills/install-skill.ts"
import { asSentence } from "../../../base/sentence.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { printScan } from "./print-scan.ts"

/** `hermes skills install` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, signal } = invocation
  const name = flags.text("name")
  const category = flags.text("category")
  const options = { force: flags.has("force"), ...(category === undefined ? {} : { category }) }
  const context = { ...homeContext(invocation), signal }
  const source = positionals[0] ?? ""
  if (flags.has("all")) return await installAll(source, options, { invocation, context })
  const named = { ...options, ...(name === undefined ? {} : { name }) }
  const scanned = valueOrCliError(await scanForInstall(source, named, context))
  try {
    printScan(scanned, terminal)
    if (scanned.isAllowed && !(await confirmed(`Install ${scanned.name}?`, { terminal, assumed: flags.has("yes") }))) {
      terminal.line("Nothing was installed.")
      return 1
    }
    printInstalled(valueOrCliError(scanned.install()).install_path, invocation)
    return 0
  } finally {
    scanned.discard()
  }
}

/** Installs all skills of a source after one question. One that is refused does not keep the others from being installed. */
async function installAll(
  source: string,
  options: Parameters<typeof scanAllForInstall>[1],
  { invocation, context }: { readonly invocation: Invocation; readonly context: InstallContext },
): Promise<number> {
  const { flags, terminal } = invocation
  const found = valueOrCliError(await scanAllForInstall(source, options, context))
  const skills = found.flatMap(({ scanned }) => (scanned.ok ? [scanned.value] : []))
  try {
    for (const { identifier, scanned } of found) {
      if (scanned.ok) printScan(scanned.value, terminal)
      else terminal.errLine(asSentence(`${identifier}: ${scanned.error.message}`))
    }
    const allowed = skills.filter(({ isAllowed }) => isAllowed)
    const question = `Install ${counted(allowed.length, "skill")}: ${allowed.map((skill) => skill.name).join(", ")}?`
    if (allowed.length > 0 && !(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
      terminal.line("Nothing was installed.")
      return 1
    }
    const installed = skills.filter((skill) => installOne(skill, invocation))
    return installed.length === found.length ? 0 : 1
  } finally {
    for (const skill of skills) skill.discard()
  }
}

function installOne(skill: ScannedSkill, invocation: Invocation): boolean {
  const installed = skill.install()
  if (installed.ok) printInstalled(installed.value.install_path, invocation)
  else invocation.terminal.errLine(asSentence(installed.error.message))
  return installed.ok
}

function printInstalled(installPath: string, { terminal, home }: Invocation): void {
  terminal.line(`Installed in ${home.display(home.file("skills", installPath))}. New conversations list it.`)
}
