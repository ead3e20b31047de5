import { editConfig } from "../../config/edit.ts"
import { CliError } from "../command.ts"
import { granted } from "../settings-access.ts"
import { good, type DoctorContext, type Finding, type Section } from "./finding.ts"

/** A weakness that was found after a release, shipped with the next one. */
export interface Advisory {
  readonly id: string
  readonly text: string
  readonly fix: string
}

export function advisoriesSection(advisories: readonly Advisory[]): Section {
  return {
    title: "Security advisories",
    check: ({ settings }) => {
      const acknowledged = settings.config.get("security.acked_advisories")
      const open = advisories.filter((advisory) => !acknowledged.includes(advisory.id))
      if (open.length === 0) return [good("none")]
      return open.map(({ id, text, fix }): Finding => ({
        level: "warning",
        text: `${id}: ${text}`,
        fix: `${fix}; then hermes doctor --ack ${id}`,
      }))
    },
  }
}

/** Remembers that the person has read an advisory. */
export async function acknowledge(
  id: string,
  context: DoctorContext & { readonly advisories: readonly Advisory[] },
): Promise<void> {
  if (!context.advisories.some((advisory) => advisory.id === id)) {
    throw new CliError(`There is no security advisory \`${id}\`; \`hermes doctor\` lists them.`, { exitCode: 2 })
  }
  const { config, environment } = context.settings
  const known = config.get("security.acked_advisories")
  const next = [...new Set([...known, id])]
  granted(await editConfig({ home: context.home, environment }, [{ path: "security.acked_advisories", value: next }]))
}
