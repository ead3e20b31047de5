import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"

/** Hints that are shown to the user once. */
export type Hint = "busy_input_prompt" | "no_sandbox"

/** Records in config.yaml that a hint was shown. If that fails, the hint is shown again. */
export async function rememberHint(
  hint: Hint,
  { home, environment, log }: { readonly home: Home; readonly environment: Environment; readonly log: Logger },
): Promise<void> {
  try {
    const { editConfig } = await import("../../config/edit-config.ts")
    const edited = await editConfig({ home, environment }, [{ path: `onboarding.seen.${hint}`, value: true }])
    if (!edited.ok) log.info(`the hint ${hint} will be shown again: ${edited.error.message}`)
  } catch (error) {
    log.info(`the hint ${hint} will be shown again: ${errorMessage(error)}`)
  }
}
