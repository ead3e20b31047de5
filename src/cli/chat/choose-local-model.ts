import type { LocalFind } from "../../app/model-sources.ts"
import { compactCount } from "../../base/compact-count.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { CliError } from "../command.ts"
import { askOption } from "../commands/model/ask.ts"
import type { Terminal } from "../terminal.ts"

/** One of the models that a server nearby has: the person says which, where somebody is there to ask. */
export async function chooseLocalModel(
  { server, models }: Extract<LocalFind, { kind: "several" }>,
  terminal: Terminal | undefined,
): Promise<ChosenModel> {
  const place = `${server} at ${models[0]?.runtime.baseUrl ?? "this machine"}`
  if (terminal === undefined) {
    throw new CliError(
      `No model is configured, and ${place} has several. Name one with --model: ${shortList(models)}; \`hermes model\` makes it the usual one.`,
      { exitCode: 1 },
    )
  }
  terminal.errLine(`No model is configured. ${place} has these; \`hermes model\` makes one of them the usual one.`)
  const options = models.map((value) => ({
    name: value.runtime.model,
    note: `${compactCount(value.runtime.contextLength)} tokens`,
    value,
  }))
  for (;;) {
    const chosen = await askOption(terminal, options, { what: "Model" })
    if (chosen.kind === "option") return chosen.value
    terminal.errLine(`${server} has no model "${chosen.text}".`)
  }
}

const MAX_LISTED = 12

function shortList(models: readonly ChosenModel[]): string {
  const names = models.slice(0, MAX_LISTED).map(({ runtime }) => runtime.model)
  const more = models.length - names.length
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ")
}
