import { COMMAND_TREE } from "./command-table.ts"
import { renderHelp } from "./help.ts"

/** What `hermes --help` prints where there is no terminal to ask for width and colour. */
export function plainOverview(): string {
  return renderHelp([], { tree: COMMAND_TREE, columns: 80, color: false })
}
