/** Grammar of the verbs that look at workloads and steer their rollouts. */

import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';

import { ROLLING_UPDATE } from '../planners/names.ts';
import { kindsOf, orController } from './controller-argument.ts';
import { durationOption } from './durations.ts';
import type { Attach } from './program.ts';
import { REPOSITORY_KIND, orRepositories } from './repository-argument.ts';
import type { WishOptions } from './rollout-wishes.ts';
import { wisherOptions } from './wisher-options.ts';
import { CONTROLLER_KIND } from './workload-argument.ts';

/** What stands for `KIND/NAME` in the help of a verb. */
function workloadOf(verb: string): string {
  return `KIND is ${kindsOf(verb).join(', ')}, or in full, like statefulset.fairlead.dev/web or statefulsets.apps/web`;
}

/** Adds `get`, `watch`, `explain`, `rollout …` and `set image`. */
export function addOperatorVerbs(program: Command, attach: Attach): void {
  attach(
    program
      .command('get')
      .description('list workloads: desired, ready, updated, available, revision, state and why')
      .argument(
        '[KIND[/NAME]]',
        `${kindsOf('get').join(', ')} or ${REPOSITORY_KIND}; all but ${CONTROLLER_KIND} and ${REPOSITORY_KIND} if absent`,
      )
      .option('-A, --all-namespaces', 'of every namespace')
      .option('-l, --selector <labels>', 'only those with these labels, like app=web,tier!=db')
      .addHelpText(
        'after',
        examples(
          'fairlead get',
          'fairlead get sts -A -l team=shop',
          'fairlead get sts/web -o json',
          'fairlead get rc',
          'fairlead get repositories',
        ),
      ),
    orRepositories(
      orController(
        async () => (await import('./get.ts')).runGet,
        async () => (await import('./controller-list.ts')).runGetControllers,
      ),
      async () => (await import('./get-repositories.ts')).runGetRepositories,
    ),
  );
  attach(
    program
      .command('watch')
      .description(
        'a live tree of one workload: revisions, pods, what it waits for; plain lines without a terminal',
      )
      .argument('<KIND/NAME>', workloadOf('watch'))
      .option('--until-done', 'end when the rollout is done (0) or stalled (1)')
      .addHelpText(
        'after',
        `
A workload that is not there yet is waited for: in a script with --timeout. Of a commit that was pushed a
moment ago the workload knows nothing yet: \`fairlead sync REPOSITORY\` waits for that.
${examples(
  'fairlead watch sts/web',
  'fairlead watch sts/web --until-done --timeout 10m',
  'fairlead watch sts/web -o json',
)}`,
      ),
    orController(
      async () => (await import('./watch.ts')).runWatch,
      async () => (await import('./controller-views.ts')).runControllerWatch,
    ),
  );
  attach(
    program
      .command('explain')
      .description('why is nothing happening? One sentence, worked out here from what the cluster holds')
      .argument('<KIND/NAME>', workloadOf('explain'))
      .addHelpText('after', examples('fairlead explain sts/web', 'fairlead explain sts/web -o json')),
    orController(
      async () => (await import('./explain.ts')).runExplain,
      async () => (await import('./controller-views.ts')).runControllerExplain,
    ),
  );
  addRollout(program, attach);
  addRollingUpdate(program, attach);
  const set = program.command('set').description('change a field of a workload');
  attach(
    wishOptions(
      set
        .command('image')
        .description('set the images of containers')
        .argument('<KIND/NAME>', workloadOf('image'))
        .argument('<CONTAINER=IMAGE...>', 'one or more; the container * means all'),
    ).addHelpText(
      'after',
      examples(
        'fairlead set image sts/web app=registry.example/web:1.2',
        `fairlead set image sts/web '*=web:1.2' --reason "hotfix"`,
      ),
    ),
    orController<WishOptions>(
      async () => (await import('./set-image.ts')).runSetImage,
      async () => (await import('./controller-wishes.ts')).runControllerSetImage,
    ),
  );
}

function addRollout(program: Command, attach: Attach): void {
  const rollout = program
    .command('rollout')
    .description('look at a rollout and steer it')
    .addHelpText(
      'after',
      examples('fairlead rollout status sts/web --timeout 10m', 'fairlead rollout undo deploy/api'),
    );
  attach(
    rollout
      .command('status')
      .description('wait until the rollout is done; exit code 1 if it is stalled, 3 when the time is up')
      .argument('<KIND/NAME>', workloadOf('status'))
      .option('-w, --watch', 'wait until it is done', true)
      .option('--no-watch', 'print the present status and end (also --watch=false)')
      .addHelpText(
        'after',
        examples(
          'fairlead rollout status sts/web --timeout 10m',
          'fairlead rollout status sts/web --watch=false',
        ),
      ),
    orController(
      async () => (await import('./rollout-status.ts')).runRolloutStatus,
      async () => (await import('./controller-views.ts')).runControllerStatus,
    ),
  );
  attach(
    rollout
      .command('history')
      .description('revisions, and what became of each attempt to roll them out')
      .argument('<KIND/NAME>', workloadOf('history'))
      .option('--revision <number>', 'one revision in full', revisionOption)
      .option('--diff <from,to>', 'what differs between the templates of two revisions', twoRevisionsOption)
      .addHelpText(
        'after',
        examples(
          'fairlead rollout history sts/web',
          'fairlead rollout history deploy/api --revision 3',
          'fairlead rollout history deploy/api --diff 2,3',
        ),
      ),
    orController(
      async () => (await import('./rollout-history.ts')).runRolloutHistory,
      async () => (await import('./controller-history.ts')).runControllerHistory,
    ),
  );
  addWish(
    rollout,
    attach,
    'pause',
    'hold the rollout before its next step; outlives workers, commits and Temporal',
  );
  addWish(rollout, attach, 'resume', 'let a paused rollout go on');
  addWish(
    rollout,
    attach,
    'abort',
    'give the rollout up: back to the last complete revision, or paused if there is none',
  );
  addWish(rollout, attach, 'retry', 'start again a rollout whose run failed or was terminated');
  addWish(rollout, attach, 'restart', 'replace all pods, keeping the template');
  attach(
    wishOptions(
      rollout
        .command('undo')
        .description('go back to an earlier revision')
        .argument('<KIND/NAME>', workloadOf('undo'))
        .option('--to-revision <number>', 'this one (default: the one before the present)', revisionOption),
    ).addHelpText(
      'after',
      examples(
        'fairlead rollout undo sts/web',
        'fairlead rollout undo sts/web --to-revision 3 --reason "leaks memory"',
      ),
    ),
    orController(
      async () => (await import('./rollout-wishes.ts')).runUndo,
      async () => (await import('./controller-wishes.ts')).runControllerUndo,
    ),
  );
}

function addRollingUpdate(program: Command, attach: Attach): void {
  attach(
    wisherOptions(
      program
        .command('rolling-update')
        .description(
          'replace a ReplicationController pod by pod; run again, it attaches to the update that runs',
        )
        .argument('<OLD>', 'the ReplicationController that is replaced')
        .argument('[NEW]', 'the one that takes its place and keeps this name (default: it gets the old name)')
        .option('--image <image>', 'roll out this image')
        .option('--container <name>', 'which container gets the image, where there are several')
        .option(
          '-f, --filename <file>',
          'roll out the ReplicationController in this file; - is standard input',
          oneFileOption,
        )
        .option('--rollback', 'turn the update in progress round')
        .addOption(
          new Option(
            '--update-period <duration>',
            'between growing and shrinking, up to 168h (default: none)',
          ).argParser(durationOption),
        )
        .addOption(
          new Option(
            '--poll-interval <duration>',
            'between two looks at the cluster, up to 1h (default: 1s)',
          ).argParser(durationOption),
        )
        .option(
          '--deployment-label-key <key>',
          "label that tells the two controllers' pods apart",
          labelKeyOption,
          ROLLING_UPDATE.deployment,
        )
        .option(
          '--max-surge <amount>',
          'pods above the desired number, like 1 or 25% (default: annotation fairlead.dev/max-surge, 1)',
        )
        .option(
          '--max-unavailable <amount>',
          'pods below it (default: annotation fairlead.dev/max-unavailable, 0)',
        )
        .option('--dry-run', 'only say what would be rolled out'),
      'with the update',
    ).addHelpText(
      'after',
      '\nWith --timeout it gives up waiting when nothing has moved for so long (default 5m); the update itself goes on.\n' +
        examples(
          'fairlead rolling-update foo --image=registry.example/foo:2',
          'fairlead rolling-update foo foo-v2 -f foo-v2.yaml',
          'fairlead rolling-update foo --rollback',
        ),
    ),
    async () => (await import('./rolling-update.ts')).runRollingUpdate,
  );
}

type SimpleWish = 'pause' | 'resume' | 'abort' | 'retry' | 'restart';

function addWish(rollout: Command, attach: Attach, verb: SimpleWish, description: string): void {
  attach(
    wishOptions(
      rollout.command(verb).description(description).argument('<KIND/NAME>', workloadOf(verb)),
    ).addHelpText(
      'after',
      examples(
        `fairlead rollout ${verb} sts/web`,
        `fairlead rollout ${verb} sts/web -n shop --reason "db alarm"`,
      ),
    ),
    orController<WishOptions>(
      async () => {
        const { runWish } = await import('./rollout-wishes.ts');
        return async (call) => await runWish(verb, call);
      },
      async () => {
        const { runControllerWish } = await import('./controller-wishes.ts');
        return async (call) => await runControllerWish(verb, call);
      },
    ),
  );
}

function wishOptions(command: Command): Command {
  return wisherOptions(command, 'on the object').option(
    '--no-wait',
    'do not wait until a controller has seen it',
  );
}

function revisionOption(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) {
    throw new InvalidArgumentError(
      `"${text}" is not a revision number; \`fairlead rollout history\` shows them`,
    );
  }
  return BigInt(text);
}

/** As the apiserver checks it: an optional prefix, which is a subdomain, and a name. */
const LABEL_KEY =
  /^(?=[^/]{1,253}\/|[^/]*$)(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/)?(?=[^/]{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;

/** kubectl takes several: here the last one alone would count. */
function oneFileOption(text: string, previous: string | undefined): string {
  if (previous === undefined) return text;
  throw new InvalidArgumentError(`one file at the most, and ${previous} is another`);
}

function labelKeyOption(text: string): string {
  if (LABEL_KEY.test(text)) return text;
  throw new InvalidArgumentError(
    `"${text}" is no key of a label: letters, digits, dashes, dots and underscores, like "deployment" or "example.com/deployment"`,
  );
}

function twoRevisionsOption(text: string): readonly [bigint, bigint] {
  const [from, to, ...more] = text.split(',');
  if (from === undefined || to === undefined || more.length > 0) {
    throw new InvalidArgumentError(`"${text}" is not two revision numbers such as 2,3`);
  }
  return [revisionOption(from), revisionOption(to)];
}

/** Lines under the options. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
