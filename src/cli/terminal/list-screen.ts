import type { ChoiceList } from "../../commands/choice-list.ts"
import type { Invocation } from "../command.ts"

/** True where a list can be drawn and the user can choose from it. */
export function canDrawList({ terminal, environment }: Pick<Invocation, "terminal" | "environment">): boolean {
  return terminal.stdinIsTty && terminal.stdoutIsTty && process.stdin.isTTY && environment.get("TERM") !== "dumb"
}

/** Shows a list until the user leaves it. */
export async function showListScreen(list: ChoiceList<string>, invocation: Invocation): Promise<void> {
  const { showList } = await import("../../tui/modals/show-list.ts")
  const { terminal, environment, signal } = invocation
  await showList(list, { environment, color: terminal.color, signal })
}
