import { COMMAND_TREE } from "../command-table/command-tree.ts"
import { renderHelp } from "../command-line/help.ts"

/** The output of `hermes --help` without a terminal: default width, no colour. */
export function plainOverview(): string {
  return renderHelp([], { tree: COMMAND_TREE, columns: 80, color: false })
}
