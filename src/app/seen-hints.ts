import type { Logger } from "../base/logger.ts"
import { errorMessage } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"

/** Explanations that a person gets once in their life with Hermes. */
export type Hint = "busy_input_prompt"

/** Notes in config.yaml that a hint was shown. Where that cannot be written the hint comes again, and nothing else happens. */
export async function rememberHint(
  hint: Hint,
  { home, environment, log }: { readonly home: Home; readonly environment: Environment; readonly log: Logger },
): Promise<void> {
  try {
    const { editConfig } = await import("../config/edit.ts")
    const edited = await editConfig({ home, environment }, [{ path: `onboarding.seen.${hint}`, value: true }])
    if (!edited.ok) log.info(`the hint ${hint} will be shown again: ${edited.error.message}`)
  } catch (error) {
    log.info(`the hint ${hint} will be shown again: ${errorMessage(error)}`)
  }
}
