import { errorMessage } from "../../base/system-error.ts"
import { combineFacets } from "../../agent/facets.ts"
import type { Facets } from "../../agent/facets.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext, FacetFactory, SessionAbilities } from "./facet-context.ts"

/** The facets of one session: combined for the loop, and with what only the app uses. */
export interface CreatedFacets {
  readonly combined: Facets
  readonly ports: ToolPorts
  readonly abilities: Partial<SessionAbilities>
  /** For the user, shown before or with the first run. */
  readonly warnings: readonly string[]
  wrapModel(model: ModelClient): ModelClient
  /** Call it once the session is open. */
  opened(): void
  /** Call it once the warnings were shown. */
  readonly warningsShown: () => void
}

/** Creates the facets of a session in list order. */
export async function createFacets(
  factories: readonly FacetFactory[],
  given: Omit<FacetContext, "facets" | "ports">,
): Promise<CreatedFacets> {
  const created = late<Pick<CreatedFacets, "combined" | "ports">>("the facets are still being created")
  const context: FacetContext = {
    ...given,
    facets: () => created.get().combined,
    ports: () => created.get().ports,
  }
  const list: AppFacet[] = []
  for (const create of factories) {
    const facet = await create(context)
    if (facet !== undefined) list.push(facet)
  }
  const combined = combineFacets(list, given.services.log)
  const ports = combined.ports()
  created.set({ combined, ports })
  return {
    combined,
    ports,
    abilities: list.reduce((abilities, facet) => ({ ...abilities, ...facet.abilities?.() }), {}),
    warnings: list.flatMap((facet) => facet.openingWarnings?.() ?? []),
    wrapModel: (model) => list.reduce((wrapped, facet) => facet.wrapModel?.(wrapped) ?? wrapped, model),
    opened: () => {
      callEach("opened")
    },
    warningsShown: () => {
      callEach("openingWarningsShown")
    },
  }

  function callEach(what: "opened" | "openingWarningsShown"): void {
    for (const facet of list) {
      try {
        facet[what]?.()
      } catch (error) {
        given.services.log.warning(`${facet.name} failed in ${what}: ${errorMessage(error)}`)
      }
    }
  }
}

/** A value that parts of a session refer to before it exists. */
export function late<T>(missing: string): { readonly get: () => T; set(value: T): void } {
  let held: { readonly value: T } | undefined
  return {
    get: () => {
      if (held === undefined) throw new Error(missing)
      return held.value
    },
    set: (value) => {
      held = { value }
    },
  }
}
