import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { isForeign } from "../project-packages.ts"
import { PACKAGE_STARTERS, startedPackages } from "../started-packages.ts"

/** Programs that a package manager downloads in order to run them: neither the user nor the project has chosen their code. */
export const DOWNLOADED_PROGRAM_RULES: readonly CommandRule[] = [
  {
    key: "run a downloaded program",
    programs: PACKAGE_STARTERS,
    when: (call) => startedPackages(call).some((started) => isForeign(started, call)),
    does: "downloads a program that is not part of the project and runs or installs it",
    effects: CODE,
  },
]
