import type { Config } from "../../config/load-config.ts"
import type { FlagValues, Invocation } from "../command.ts"

/** Smaller windows have no space for the parts of the full interface. */
const MIN_COLUMNS = 40
const MIN_ROWS = 10

/**
 * How a conversation is shown. Flags win over HERMES_TUI, and that over the setting, which is not known yet when the first frame is
 * drawn: `allowed` is the full interface unless the setting says otherwise.
 */
export type Interface = "full" | "allowed" | "lines"

export function chooseInterface({ flags, environment, terminal }: Invocation): Interface {
  const fits = terminal.columns >= MIN_COLUMNS && terminal.rows >= MIN_ROWS
  if (!terminal.stdinIsTty || !terminal.stdoutIsTty || !terminal.movesCursor || !fits) return "lines"
  if (flags.has("cli") || flags.has("plain") || !isConversation(flags)) return "lines"
  if (flags.has("tui")) return "full"
  const variable = environment.get("HERMES_TUI")?.trim() ?? ""
  if (variable !== "") return environment.truthy("HERMES_TUI") ? "full" : "lines"
  return "allowed"
}

/** No flag asks for a single answer. */
function isConversation(flags: FlagValues): boolean {
  return (
    flags.text("oneshot") === undefined &&
    flags.text("query") === undefined &&
    flags.text("output-format") === undefined
  )
}

export function isFullInterface(chosen: Interface, config: Pick<Config, "get">): boolean {
  return chosen === "full" || (chosen === "allowed" && config.get("display.interface") !== "cli")
}
