/** A gRPC channel whose long polls have connections of their own: they are open for weeks, and a connection takes only so many. */

import { Channel } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelInterface, ChannelOptions } from '@grpc/grpc-js';

type CallArguments = Parameters<ChannelInterface['createCall']>;
type Call = ReturnType<ChannelInterface['createCall']>;

/** What a proxy before Temporal takes on a connection is 100 (HAProxy) or 128 (nginx, AWS) at a time; what comes after waits. */
const MOST_ON_A_CONNECTION = 50;

/** Without it grpc-js gives all channels to one address the same connection. */
const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1 };

export class LongPollChannel implements ChannelInterface {
  readonly #calls: Channel;
  /** The first ones are filled first: grpc-js ends the connection of one that has been without calls for half an hour. */
  readonly #polls: { readonly channel: Channel; open: number }[] = [];
  readonly #connect: () => Channel;
  readonly #isLongPoll: (method: string) => boolean;

  constructor(
    target: string,
    credentials: ChannelCredentials,
    options: ChannelOptions,
    isLongPoll: (method: string) => boolean,
  ) {
    this.#calls = new Channel(target, credentials, options);
    this.#connect = () => new Channel(target, credentials, { ...options, ...OWN_CONNECTION });
    this.#isLongPoll = isLongPoll;
  }

  createCall(...[method, ...more]: CallArguments): Call {
    return this.#isLongPoll(method) ? this.#poll(method, ...more) : this.#calls.createCall(method, ...more);
  }

  close(): void {
    for (const { channel } of this.#polls) channel.close();
    this.#calls.close();
  }

  getTarget(): string {
    return this.#calls.getTarget();
  }

  getConnectivityState(
    ...all: Parameters<ChannelInterface['getConnectivityState']>
  ): ReturnType<ChannelInterface['getConnectivityState']> {
    return this.#calls.getConnectivityState(...all);
  }

  watchConnectivityState(...all: Parameters<ChannelInterface['watchConnectivityState']>): void {
    this.#calls.watchConnectivityState(...all);
  }

  getChannelzRef(): ReturnType<ChannelInterface['getChannelzRef']> {
    return this.#calls.getChannelzRef();
  }

  #poll(...all: CallArguments): Call {
    const free = this.#polls.find(({ open }) => open < MOST_ON_A_CONNECTION);
    const place = free ?? { channel: this.#connect(), open: 0 };
    if (free === undefined) this.#polls.push(place);
    const call = place.channel.createCall(...all);
    const start = call.start.bind(call);
    // On the call itself: grpc-js wants back the one that its channel has made.
    call.start = (metadata, listener) => {
      place.open += 1;
      start(metadata, {
        onReceiveMetadata: (received) => listener.onReceiveMetadata(received),
        onReceiveMessage: (message) => listener.onReceiveMessage(message),
        onReceiveStatus: (status) => {
          place.open -= 1;
          listener.onReceiveStatus(status);
        },
      });
    };
    return call;
  }
}
