import { changeDisplay } from "./display.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/reasoning`: how much the model reasons, and whether that is shown. */
export const reasoningCommand: SlashCommand = {
  name: "reasoning",
  category: "model",
  help: "show or change the reasoning effort, or whether reasoning is shown",
  argument: "[show | hide | none | minimal | low | medium | high | xhigh | default] [--global]",
  details:
    "The effort applies from your next message on, in this session; --global also keeps it for later ones. show and hide are saved.",
  run: showOrChange,
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const

async function showOrChange(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { session, app } = context
  const words = argument
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "")
  const isGlobal = words.includes("--global")
  const [word, ...others] = words.filter((each) => each !== "--global")
  if (word === undefined) {
    const shown =
      (context.display?.get("display.show_reasoning") ?? app.config.get("display.show_reasoning")) ? "shown" : "hidden"
    return reply(`Effort: ${session.reasoningEffort ?? "the model's default"}. Reasoning is ${shown}.`)
  }
  if (others.length > 0) return reply(USAGE)
  if (word === "show" || word === "hide" || word === "on" || word === "off") {
    const isShown = word === "show" || word === "on"
    return reply(
      await changeDisplay(
        "display.show_reasoning",
        isShown,
        context,
        isShown ? "Reasoning is shown" : "Reasoning is hidden",
      ),
    )
  }
  const effort = EFFORTS.find((name) => name === word)
  if (effort === undefined && word !== "default") return reply(USAGE)
  session.setReasoningEffort(effort)
  const changed = `Effort: ${session.reasoningEffort ?? "the model's default"}, from your next message on.`
  if (!isGlobal) return reply(changed)
  const { saveSetting } = await import("./save-setting.ts")
  const problem = await saveSetting("agent.reasoning_effort", effort ?? "", context)
  return reply(`${changed} ${problem ?? "It is now the default for later sessions."}`)
}

const USAGE = `Usage: /reasoning show or hide, or /reasoning LEVEL with one of ${EFFORTS.join(", ")}, default.`
