import type { GuardCategory, GuardFinding, Severity } from "../../knowledge/skills/guard/guard-finding.ts"

/** How the guard of skills reports a finding of the policy. */
export type RiskRow = Pick<GuardFinding, "id" | "severity" | "category">

function rows(
  category: GuardCategory,
  table: Readonly<Record<string, readonly [id: string, severity: Severity]>>,
): Readonly<Record<string, RiskRow>> {
  return Object.fromEntries(
    Object.entries(table).map(([key, [id, severity]]) => [key, { id, severity, category }] as const),
  )
}

/** Undefined for what a skill may do. */
export function commandRisk(key: string): RiskRow | undefined {
  // Variants of a key name how a file is written.
  return COMMAND_RISKS[key.replace(/ \((?:long flag|perl\/ruby)\)$/u, "")]
}

/**
 * By grant key of the policy. Keys that are missing are what ordinary procedures do (delete a build directory, push a branch): the
 * policy still asks about them when the command runs.
 */
const COMMAND_RISKS: Readonly<Record<string, RiskRow>> = {
  ...rows("exfiltration", {
    "send credentials to another machine": ["send_credentials", "critical"],
    "read credentials of the cloud machine": ["cloud_credentials", "critical"],
    "read credentials": ["read_credentials", "high"],
    "copy credentials": ["copy_credentials", "high"],
    "read the memory or environment of processes": ["read_process_memory", "high"],
    "send data to another machine": ["send_data", "high"],
    "send the output of a command to another machine": ["send_output", "high"],
    "record the screen, sound or keyboard": ["record_user", "high"],
    "send a token to another service": ["send_token", "high"],
    "read a keyring or token": ["read_keyring", "medium"],
    "upload a file": ["upload_file", "medium"],
  }),
  ...rows("supply_chain", {
    "pipe remote content to shell": ["run_download", "critical"],
    "execute remote script via process substitution": ["run_download", "critical"],
    "run downloaded code": ["run_download", "critical"],
    "run a downloaded file": ["run_download", "critical"],
    "install a package from an unusual source": ["unusual_source", "high"],
    "change settings of a package manager": ["package_manager_settings", "high"],
  }),
  ...rows("network", {
    "open a connection that runs a program": ["remote_control", "critical"],
    "network connection of the shell": ["shell_connection", "critical"],
    "tunnel to another machine": ["open_tunnel", "high"],
  }),
  ...rows("persistence", {
    "write a file that runs at start-up or login": ["start_up_file", "high"],
    "overwrite credential, SSH or shell start-up file": ["start_up_file", "high"],
    "overwrite system file via redirection": ["start_up_file", "high"],
    "overwrite system file via tee": ["start_up_file", "high"],
    "copy/move file into sensitive credential/SSH/shell-rc path": ["start_up_file", "high"],
    "in-place edit of sensitive credential/SSH/shell-rc path": ["start_up_file", "high"],
    "overwrite system config": ["system_file", "high"],
    "copy/move file into system config path": ["system_file", "high"],
    "in-place edit of system config": ["system_file", "high"],
    "overwrite credentials of the account": ["overwrite_credentials", "critical"],
    "overwrite Hermes config/env": ["hermes_home", "critical"],
    "in-place edit of Hermes config/env": ["hermes_home", "critical"],
    "write into the Hermes home": ["hermes_home", "high"],
    "change the program of Hermes": ["hermes_home", "critical"],
    "change the permissions of the project": ["project_permissions", "critical"],
    "write a file that other programs execute": ["executed_file", "high"],
    "change scheduled jobs": ["scheduled_job", "high"],
    "git setting that runs a program": ["git_program", "high"],
    "register a key or handler": ["register_key", "high"],
    "environment variable that changes what programs run": ["program_variable", "high"],
  }),
  ...rows("obfuscation", {
    "run a written file with a dangerous command": ["dangerous_script", "high"],
    "code from the output of another command": ["run_output", "high"],
  }),
  ...rows("privilege_escalation", {
    "set-user-id bit or capability": ["set_user_id_file", "critical"],
    "sudo password from standard input": ["sudo_password", "critical"],
    "change users, groups or passwords": ["change_users", "high"],
    "root shell": ["root_shell", "high"],
    "container with access to the host": ["host_container", "high"],
    "access to a container socket": ["container_socket", "high"],
    "debug another process": ["debug_process", "high"],
  }),
  ...rows("destructive", {
    "recursive delete of home directory": ["delete_home", "critical"],
    "recursive delete of system directory": ["delete_system", "critical"],
    "change the command history": ["change_history", "high"],
    "delete logs": ["delete_logs", "high"],
    "delete keys": ["delete_keys", "high"],
  }),
}
