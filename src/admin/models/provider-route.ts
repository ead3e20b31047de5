import { chooseModelFor } from "../../app/services/model-sources.ts"
import type { ChosenModel, ModelSelection } from "../../llm/choose-model.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** Returns how requests to a provider would be sent now, chosen as a session would; undefined when its key or address is missing. */
export function providerRoute(
  home: LoadedHome,
  provider: string,
  endpoint: Pick<ModelSelection, "baseUrl" | "apiKey"> = {},
): ChosenModel | undefined {
  // A model has to be named, but only the endpoint and the key matter here.
  const chosen = chooseModelFor(home, { provider, model: "any", ...endpoint })
  return chosen.ok ? chosen.value : undefined
}
