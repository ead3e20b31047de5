import { editConfig } from "../../config/edit-config.ts"
import type { Result } from "../../base/result.ts"
import { invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { okFinding, type Finding, type Section } from "./finding.ts"

/** A vulnerability of a past release, published with the next one. */
export interface Advisory {
  readonly id: string
  readonly text: string
  readonly fix: string
}

/** Known vulnerabilities of this release and earlier ones. */
export const ADVISORIES: readonly Advisory[] = []

export function advisoriesSection(advisories: readonly Advisory[]): Section {
  return {
    title: "Security advisories",
    check: ({ config }) => {
      const acknowledged = config.get("security.acked_advisories")
      const open = advisories.filter((advisory) => !acknowledged.includes(advisory.id))
      if (open.length === 0) return [okFinding("none")]
      return open.map(({ id, text, fix }): Finding => ({
        level: "warning",
        text: `${id}: ${text}`,
        fix: `${fix}; then hermes doctor --ack ${id}`,
      }))
    },
  }
}

/** Records that the user has read an advisory, so that it is no longer reported. */
export async function acknowledgeAdvisory(
  context: HomeContext,
  { id, advisories = ADVISORIES }: { readonly id: string; readonly advisories?: readonly Advisory[] },
): Promise<Result<undefined, AdminFailure>> {
  if (!advisories.some((advisory) => advisory.id === id)) {
    return invalid(`There is no security advisory \`${id}\`; \`hermes doctor\` lists them.`)
  }
  const home = await loadHome(context)
  const acknowledged = new Set([...home.config.get("security.acked_advisories"), id])
  return await editConfig(home, [{ path: "security.acked_advisories", value: [...acknowledged] }])
}
