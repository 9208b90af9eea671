/** What every client of Temporal has of ours, in a worker and elsewhere. */

import { Metadata, status } from '@grpc/grpc-js';
import type { InterceptingCallInterface } from '@grpc/grpc-js/build/src/client-interceptors.js';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** A client of the namespace `default` at `host:port`, for what knows its server: to be closed by its connection. Rejects when it does not answer. */
export async function connectTemporal(address: string): Promise<Client> {
  return new Client({ connection: await openConnection({ address }) });
}

/** A connection to a server that answers. Rejects when it does not, within `connectTimeout`; nothing is left open then. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const connection = Connection.lazy({ ...options, interceptors: [retryUntilClosed()] });
  try {
    await connection.ensureConnected();
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * In the place of the SDK's own interceptor, which tries again: a try that comes after the connection was closed fails the call it belongs to,
 * with CANCELLED. gRPC throws there, and as the SDK tries again out of a timer, nobody could catch that: it would end the process, with
 * all that it had still to clean up.
 */
export function retryUntilClosed(): Interceptor {
  const tryAgain = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  return (options, nextCall) => tryAgain(options, (each) => openOrCancelled(() => nextCall(each)));
}

function openOrCancelled(open: () => InterceptingCallInterface): InterceptingCallInterface {
  try {
    return open();
  } catch (error) {
    const details = error instanceof Error ? error.message : String(error);
    return {
      start: (_metadata, listener) =>
        listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() }),
      sendMessage: () => undefined,
      sendMessageWithContext: () => undefined,
      startRead: () => undefined,
      halfClose: () => undefined,
      cancelWithStatus: () => undefined,
      getPeer: () => '',
      getAuthContext: () => null,
    };
  }
}
