/**
 * Schedules as files and commands of each system's own scheduler. Nothing is done here: a plan says which files are written and which
 * commands are run. So every system's plan is tested on every system.
 */

import path from "node:path";

export const schedulerNames = ["systemd", "cron", "launchd", "tasks"] as const;
export type SchedulerName = (typeof schedulerNames)[number];

export interface Schedule {
  /** A short name of letters, digits and hyphens, from the source. */
  readonly name: string;
  readonly description: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly hour: number;
  readonly minute: number;
  readonly home: string;
}

export interface PlannedFile {
  readonly path: string;
  readonly content: string;
}

export interface SchedulePlan {
  readonly files: readonly PlannedFile[];
  readonly commands: readonly (readonly string[])[];
  /** For cron: the line with this mark is replaced in the user's table. */
  readonly cron: { readonly mark: string; readonly line: string } | null;
  /** To remove it again. */
  readonly undo: { readonly files: readonly string[]; readonly commands: readonly (readonly string[])[] };
}

export function planSchedule(scheduler: SchedulerName, schedule: Schedule): SchedulePlan {
  return { systemd, cron, launchd, tasks }[scheduler](schedule);
}

/** Waits up to so long, so that a thousand offices do not begin at the same second. */
const spreadMinutes = 15;

function systemd({ name, description, command, hour, minute, home }: Schedule): SchedulePlan {
  const folder = path.posix.join(home, ".config/systemd/user");
  const [service, timer] = [`emanet-${name}.service`, `emanet-${name}.timer`];
  const at = `${two(hour)}:${two(minute)}:00`;
  return {
    files: [
      {
        path: path.posix.join(folder, service),
        content: unit({
          Unit: [`Description=${oneLine(description)}`, "Wants=network-online.target", "After=network-online.target"],
          // 3: done, and something is reported. The next night tries again.
          Service: [
            "Type=oneshot",
            "Nice=10",
            "IOSchedulingClass=idle",
            "SuccessExitStatus=3",
            `ExecStart=${command.map(systemdWord).join(" ")}`,
          ],
        }),
      },
      {
        path: path.posix.join(folder, timer),
        content: unit({
          Unit: [`Description=${oneLine(description)}`],
          // Persistent: a machine that was off at this time backs up when it is on again.
          Timer: [`OnCalendar=*-*-* ${at}`, "Persistent=true", `RandomizedDelaySec=${spreadMinutes}min`],
          Install: ["WantedBy=timers.target"],
        }),
      },
    ],
    commands: [
      ["systemctl", "--user", "daemon-reload"],
      ["systemctl", "--user", "enable", "--now", timer],
    ],
    cron: null,
    undo: {
      commands: [["systemctl", "--user", "disable", "--now", timer]],
      files: [path.posix.join(folder, service), path.posix.join(folder, timer)],
    },
  };
}

function unit(sections: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(sections)
    .map(([name, lines]) => `[${name}]\n${lines.join("\n")}\n`)
    .join("\n");
}

/** A word of ExecStart: in quotes, with backslashes, percent signs and dollar signs escaped. */
function systemdWord(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$");
  return `"${escaped.replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
}

function cron({ name, command, hour, minute }: Schedule): SchedulePlan {
  const mark = `# emanet ${name}`;
  // In a crontab a percent sign ends the command.
  const words = command.map((word) => shellWord(word).replaceAll("%", "\\%"));
  const line = `${minute} ${hour} * * * ${words.join(" ")} ${mark}`;
  return { files: [], commands: [], cron: { mark, line }, undo: { files: [], commands: [] } };
}

export function shellWord(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function launchd({ name, command, hour, minute, home }: Schedule): SchedulePlan {
  const label = `tr.emanet.${name}`;
  const file = path.posix.join(home, "Library/LaunchAgents", `${label}.plist`);
  const words = command.map((word) => `    <string>${xml(word)}</string>`).join("\n");
  const content = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>StartCalendarInterval</key>
  <dict>
    <key>Hour</key>
    <integer>${hour}</integer>
    <key>Minute</key>
    <integer>${minute}</integer>
  </dict>
  <key>LowPriorityIO</key>
  <true/>
</dict>
</plist>
`;
  return {
    files: [{ path: file, content }],
    commands: [["launchctl", "load", "-w", file]],
    cron: null,
    undo: { commands: [["launchctl", "unload", "-w", file]], files: [file] },
  };
}

function tasks({ name, description, command, hour, minute, home }: Schedule): SchedulePlan {
  const file = path.win32.join(home, "AppData", "Local", "Emanet", `${name}.xml`);
  const [program = "", ...words] = command;
  const content = `<?xml version="1.0" encoding="UTF-8"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>${xml(description)}</Description>
  </RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <StartBoundary>2026-01-01T${two(hour)}:${two(minute)}:00</StartBoundary>
      <RandomDelay>PT${spreadMinutes}M</RandomDelay>
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
    </CalendarTrigger>
  </Triggers>
  <Settings>
    <StartWhenAvailable>true</StartWhenAvailable>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <Priority>8</Priority>
  </Settings>
  <Actions>
    <Exec>
      <Command>${xml(program)}</Command>
      <Arguments>${xml(words.map(windowsWord).join(" "))}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
  const task = `\\Emanet\\${name}`;
  return {
    files: [{ path: file, content }],
    commands: [["schtasks", "/Create", "/F", "/TN", task, "/XML", file]],
    cron: null,
    undo: { commands: [["schtasks", "/Delete", "/F", "/TN", task]], files: [file] },
  };
}

/** A word as programs of Windows read their command line: backslashes are doubled before a quotation mark only. */
export function windowsWord(word: string): string {
  if (word !== "" && !/[\s"]/.test(word)) return word;
  return `"${word.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
}

function xml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
  };
  return text.replaceAll(/[&<>"']/g, (letter) => entities[letter] ?? letter);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, " ").replaceAll("%", "%%");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
