import type { LocalFind } from "../../app/services/model-sources.ts"
import { compactCount } from "../../base/compact-count.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { CliError } from "../command.ts"
import { askOption } from "../commands/model/ask-option.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** Asks the user to choose a model of a local server. Without a terminal, throws a `CliError` that lists the models. */
export async function askForLocalModel(
  { server, models }: Extract<LocalFind, { kind: "several" }>,
  terminal: Terminal | undefined,
): Promise<ChosenModel> {
  const serverText = `${server} at ${models[0]?.runtime.baseUrl ?? "this machine"}`
  if (terminal === undefined) {
    throw new CliError(
      `No model is configured, and ${serverText} has several. Choose one with --model: ${shortList(models)}. \`hermes model\` sets a default.`,
      { exitCode: 1 },
    )
  }
  terminal.errLine(`No model is configured. ${serverText} has these models; \`hermes model\` sets a default.`)
  const options = models.map((value) => ({
    name: value.runtime.model,
    note: `${compactCount(value.runtime.contextLength)} tokens`,
    value,
  }))
  const refuse = (text: string): string => `${server} has no model "${text}".`
  const chosen = await askOption(terminal, options, { what: "Model", refuse })
  if (chosen.kind === "option") return chosen.value
  throw new CliError(refuse(chosen.text), { exitCode: 1 })
}

const MAX_LISTED = 12

function shortList(models: readonly ChosenModel[]): string {
  const names = models.slice(0, MAX_LISTED).map(({ runtime }) => runtime.model)
  const more = models.length - names.length
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ")
}
