import type { HomeContext } from "./home-context.ts"
import { loadSettings, type Settings } from "./settings/load-settings.ts"

/** A home with its settings. `environment` contains the variables of `.env` too. */
export interface LoadedHome extends HomeContext, Settings {}

/** Reads the settings of a home once. An operation that changes settings does not update its `LoadedHome`. */
export async function loadHome(context: HomeContext): Promise<LoadedHome> {
  return { ...context, ...(await loadSettings(context)) }
}
