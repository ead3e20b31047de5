import type { LocalFind } from "../../app/services/model-sources.ts"
import { shortList } from "../../base/short-list.ts"
import { compactCount } from "../../base/compact-count.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { CliError } from "../command.ts"
import { askOption } from "../commands/model/ask-option.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** Asks the user to choose a model of a local server. Where no user can be asked, throws a `CliError` that lists the models. */
export async function askForLocalModel(
  { server, models }: Extract<LocalFind, { kind: "several" }>,
  ask: { readonly terminal: Terminal; readonly pick: PickChoice | undefined } | undefined,
): Promise<ChosenModel> {
  const serverText = `${server} at ${models[0]?.runtime.baseUrl ?? "this machine"}`
  if (ask === undefined) {
    throw new CliError(
      `No model is configured, and ${serverText} has several. Choose one with --model: ${shortList(models.map(({ runtime }) => runtime.model))}. \`hermes model\` sets a default.`,
      { exitCode: 1 },
    )
  }
  const { terminal, pick } = ask
  if (pick !== undefined) return await pickLocalModel({ models, serverText, pick })
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

async function pickLocalModel({
  models,
  serverText,
  pick,
}: {
  readonly models: readonly ChosenModel[]
  readonly serverText: string
  readonly pick: PickChoice
}): Promise<ChosenModel> {
  const choices = models.map((value) => ({
    value,
    label: value.runtime.model,
    details: [`${compactCount(value.runtime.contextLength)} tokens`],
  }))
  const picked = await pick({
    title: `Model: ${serverText}`,
    hint: "Enter uses it; `hermes model` sets a default",
    load: () => Promise.resolve({ choices }),
  })
  if (picked !== undefined) return picked.value
  throw new CliError(
    "No model was chosen. `hermes model` sets a default; --model names one for a single conversation.",
    {
      exitCode: 1,
    },
  )
}
